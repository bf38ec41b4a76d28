"""The sandbox from the judge's side: children come, answer, die and are killed; nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.grading.student_process import PROGRAM
from grader.remote.budget import Budget
from grader.remote.channel import Channel, Times
from grader.remote.session import Live, Lost, StudentError
from grader.sandbox import jail, lockdown, pids
from grader.sandbox.host import CPU_PRESSURE, Child, Host, HostError, Limits
from tests.tools.jailed import PROBLEMS

LIMITS = Limits(cpu_seconds=2)
TIMES = Times(load=5.0, call=1.1, idle=1.1)


@pytest.fixture(scope="module", params=["process", "jail"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    if request.param == "jail" and PROBLEMS:
        pytest.skip(f"The jail is not tested: {PROBLEMS}")
    with Host(PROGRAM, request.param, LIMITS) as host:
        yield host


def line(child: Child) -> Channel:
    return Channel(child, Budget("All of it", 60.0, 60.0), TIMES)


def load(child: Channel, source: str) -> None:
    child.admit({"work": source}, rule={})
    child.load("work", references={})


def call(child: Channel, name: str, *args: object) -> Any:
    request = {"op": "call", "target": [None, name], "args": list(args), "kwargs": {}}
    return Live(child).request(request)


def ask(host: Host, expression: str, before: str = "") -> Any:
    """What an expression is in a fresh child."""
    with line(host.fork()) as child:
        load(child, f"import os, sys\n{before}\ndef answer():\n    return {expression}\n")
        return call(child, "answer")


def lost(host: Host, body: str, before: str = "") -> Lost:
    """How a call whose body is this is lost."""
    with line(host.fork()) as child:
        load(child, f"import os, sys\n{before}\ndef answer():\n    {body}\n")
        with pytest.raises(Lost) as caught:
            call(child, "answer")
    return caught.value


def descendants(pid: int) -> list[int]:
    try:
        direct = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [int(child) for child in direct] + [
        further for child in direct for further in descendants(int(child))
    ]


def fork_server(host: Host) -> int:
    """The process that forks, whatever bubblewrap has put before it."""
    processes = [host.server.process.popen.pid, *descendants(host.server.process.popen.pid)]
    return next(
        pid for pid in processes if Path(f"/proc/{pid}/comm").read_text().startswith("python")
    )


def living(pids: list[int]) -> list[int]:
    """Those of the processes that still run; one that nobody has waited for yet does not."""
    results = []
    for pid in pids:
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX":
                results.append(pid)
    return results


def at_most(count: int, pids: list[int], seconds: float = 60.0) -> bool:
    """Whether soon no more than so many of the processes run."""
    deadline = time.monotonic() + seconds
    while len(living(pids)) > count:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_a_child_answers(host: Host) -> None:
    assert ask(host, "2 + 3") == 5


def test_children_know_nothing_of_each_other(host: Host) -> None:
    assert ask(host, "os.listdir()", 'open("left", "w").close()') == ["left"]
    assert ask(host, "os.listdir()") == []


def test_what_a_module_raises_is_told(host: Host) -> None:
    with line(host.fork()) as child, pytest.raises(StudentError, match="ValueError: no"):
        load(child, 'raise ValueError("no")')


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("while True: pass", "timeout", "more than 1.1 seconds of CPU time"),
        ("import time; time.sleep(60)", "timeout", "did nothing for 1.1 seconds"),
        ("os._exit(0)", "died", "ended its own process"),
        ("import faulthandler; faulthandler._read_null()", "died", "segmentation fault"),
        ("os.close(3)", "died", "ended its own process"),
        ("os.write(3, bytes(8))", "protocol", "unreadable"),
        (r"os.write(3, b'\xff\xff\xff\x0b')", "protocol", "too large: 201 MB"),
    ],
)
def test_a_lost_child_is_told_apart(host: Host, body: str, status: str, message: str) -> None:
    result = lost(host, body)
    assert result.status == status
    assert message in result.message


def test_waiting_for_a_slow_disk_is_no_idleness(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that waits for its disk all the time, as far as its pressure file tells."""
    pressure = tmp_path / "pressure"
    monkeypatch.setattr("grader.sandbox.host.PRESSURE", str(pressure))
    pressure.write_text("some avg10=0.00 total=0\n")
    with line(host.fork()) as child:
        load(child, "import time\ndef answer():\n    time.sleep(1.8)\n    return 1")
        a_wait = "some avg10=99.00 total=1500000\n"
        threading.Timer(0.5, pressure.write_text, [a_wait]).start()
        assert call(child, "answer") == 1


@pytest.mark.full(but=("jail",))
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, the system does not tell")
@pytest.mark.parametrize("pool", ["ThreadPoolExecutor(2)", "None"])
def test_work_in_threads_is_no_idleness(host: Host, pool: str) -> None:
    """Whether one pool keeps its threads or each call starts some and waits for their end."""
    source = (
        "import time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "import torch\n"
        "def work(seconds):\n"
        "    end = time.thread_time() + seconds\n"
        "    while time.thread_time() < end: torch.rand(300, 300) @ torch.rand(300, 300)\n"
        "    return seconds\n"
        f"pool = {pool}\n"
        "def answer():\n"
        "    if pool: return sum(pool.map(work, [0.7, 0.7]))\n"
        "    for _ in range(14):\n"
        "        with ThreadPoolExecutor(2) as brief: list(brief.map(work, [0.05, 0.05]))\n"
        "    return 1.4\n"
    )
    times = Times(load=5.0, call=10.0, idle=0.5)
    with Channel(host.fork(), Budget("All of it", 60.0, 60.0), times) as child:
        load(child, source)
        assert call(child, "answer") == 1.4


@pytest.mark.full(but=("jail",))
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, the system does not tell")
def test_a_loop_in_a_thread_is_told_as_one(host: Host) -> None:
    source = (
        "import threading, time\n"
        "def spin():\n"
        "    while True: pass\n"
        "def answer():\n"
        "    thread = threading.Thread(target=spin, daemon=True)\n"
        "    thread.start()\n"
        "    thread.join()\n"
    )
    with line(host.fork()) as child:
        load(child, source)
        with pytest.raises(Lost, match="CPU time"):
            call(child, "answer")


def test_a_sleeper_with_a_thread_is_idle(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where others on the machine always wait for a processor: a thread gains no more."""
    always = {CPU_PRESSURE: time.monotonic}
    monkeypatch.setattr("grader.sandbox.host._stalled", lambda path: always.get(path, float)())
    source = (
        "import threading, time\n"
        "def answer():\n"
        "    thread = threading.Thread(target=int)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "    time.sleep(60)\n"
    )
    with line(host.fork()) as child:
        load(child, source)
        with pytest.raises(Lost, match="did nothing"):
            call(child, "answer")


@pytest.mark.full(but=("jail",))
def test_processor_time_is_limited(host: Host) -> None:
    """Also where each call is short, and where the signal of the first limit is ignored."""
    ignoring = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)"
    with line(host.fork()) as child:
        answer = "end = time.thread_time() + 0.1\n    while time.thread_time() < end: pass"
        load(child, f"import time\n{ignoring}\ndef answer():\n    {answer}\n")
        with pytest.raises(Lost, match="CPU time") as caught:
            [call(child, "answer") for _ in range(60)]
    assert caught.value.status == "died"


def test_threads_are_limited(host: Host) -> None:
    """Of root, too, where the system has control groups for it."""
    if pids.needed() and not pids.available():
        pytest.skip("root has no control group here, and the doctor says so")
    if host.isolation == "process" and not pids.needed():
        pytest.skip("RLIMIT_NPROC would count all that the user runs on the machine")
    start = (
        "import threading, time\n"
        "def started():\n"
        "    for number in range(300):\n"
        "        try: threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "        except RuntimeError: return number\n"
        "    return 300\n"
    )
    assert 0 < ask(host, "started()", start) < 64


def test_memory_is_limited(host: Host) -> None:
    with line(host.fork()) as child:
        load(child, "import torch\ndef answer(size): return torch.ones(size).sum().item()")
        assert call(child, "answer", 1 << 20) == 1 << 20
        with pytest.raises(StudentError, match="memory"):
            call(child, "answer", 1 << 29)
        assert call(child, "answer", 3) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, nobody counts these")
def test_descriptors_that_others_have_under_way_only_delay_a_child(host: Host) -> None:
    """Of root's processes those in a jail, of others' all: they may not send any more meanwhile."""
    host.fork().close()
    server = host.server
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        for _ in range(3):
            socket.send_fds(ours, [b"x"], [ours.fileno()] * 200)
        threading.Timer(0.3, theirs.close).start()
        assert ask(host, "1") == 1
    assert host.server is server


def test_files_are_limited(host: Host) -> None:
    body = 'open("large", "wb").write(bytes(20 << 20))'
    with line(host.fork()) as child, pytest.raises(StudentError, match="OSError"):
        load(child, body)


def test_nothing_is_inherited(host: Host) -> None:
    descriptors = "[fd for fd in range(64) if os.path.exists(f'/proc/self/fd/{fd}') or alive(fd)]"
    alive = (
        "def alive(fd):\n    try: os.fstat(fd)\n    except OSError: return False\n    return True"
    )
    assert ask(host, descriptors, alive) == [0, 1, 2, 3]
    assert ask(host, "sorted(os.environ)") == ["HOME", "TMPDIR"]
    assert ask(host, "[os.environ['HOME'] == os.environ['TMPDIR'] == os.getcwd()]") == [True]


def test_the_kit_is_out_of_reach(host: Host) -> None:
    for name in ("grader", "grader.checks", "grader.sandbox.host", "solutions", "solutions.masks"):
        with (
            line(host.fork()) as child,
            pytest.raises(StudentError, match="ModuleNotFoundError"),
        ):
            load(child, f"import {name}")
    mentions = "[n for n, m in sys.modules.items() if m and n.startswith(('grader', 'solutions'))]"
    assert ask(host, mentions) == []


def test_output_is_dropped(host: Host, capfd: pytest.CaptureFixture[str]) -> None:
    shout = "print('shout'); os.system('echo shout'); os.write(2, b'shout'); sys.stderr.flush()"
    assert ask(host, "1", shout) == 1
    assert capfd.readouterr() == ("", "")


def test_killing_a_child_kills_what_it_started(host: Host) -> None:
    if host.isolation == "jail":
        assert ask(host, "tried", _START_OTHERS) == "PermissionError"
        return
    before = set(descendants(host.server.process.popen.pid))
    with line(host.fork()) as child:
        load(child, _START_OTHERS)
        deadline = time.monotonic() + 60
        while len(set(descendants(host.server.process.popen.pid)) - before) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        started = [pid for pid in descendants(host.server.process.popen.pid) if pid not in before]
    # What is left is the child that waits for the next one to ask.
    assert at_most(1, started)


# One in the child's own session, one that has left it, both deaf to polite signals.
_START_OTHERS = """
import os, signal, time
tried = "started"
try:
    for leaves in (False, True):
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            if leaves:
                os.setsid()
            time.sleep(60)
            os._exit(0)
except OSError as error:
    tried = type(error).__name__
"""


@pytest.mark.full(but=("jail",))
def test_a_fork_server_that_dies_is_started_again(host: Host) -> None:
    assert ask(host, "1") == 1
    first = fork_server(host)
    os.kill(first, signal.SIGKILL)
    assert at_most(0, [first])
    assert ask(host, "2") == 2
    assert fork_server(host) != first


@pytest.mark.full(but=("jail",))
def test_a_child_lost_with_its_fork_server_is_not_the_students_fault(host: Host) -> None:
    with line(host.fork()) as child:
        load(child, "import time\ndef answer(): time.sleep(0.5)")
        os.kill(fork_server(host), signal.SIGKILL)
        with pytest.raises(HostError, match="fork server has ended"):
            call(child, "answer")
    assert ask(host, "3") == 3


def test_a_fork_server_that_cannot_start_says_why(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jail, "kit_files", lambda _: ("grader/__init__.py",))
    monkeypatch.setattr(jail, "ROOT", Path("/nowhere"))
    with Host(PROGRAM, host.isolation) as broken:
        for _ in range(2):
            with pytest.raises(HostError, match=r"could not start: .*No (such file|module)"):
                broken.fork()


@pytest.mark.full(but=("jail",))
def test_closing_leaves_nothing(host: Host) -> None:
    with Host(PROGRAM, host.isolation) as other:
        child = line(other.fork())
        load(child, 'open("left", "w").close()')
        processes = [other.server.process.popen.pid, *descendants(other.server.process.popen.pid)]
        scratch = other.server.scratch
        assert scratch is None or os.listdir(scratch)
    assert at_most(0, processes)
    assert scratch is None or not os.path.exists(scratch)
    child.close()


@pytest.mark.full(but=("jail",))
def test_a_judge_that_hangs_up_takes_only_its_own_children_along(host: Host) -> None:
    first, other = Host.several(2, PROGRAM, host.isolation)
    leaving, staying = line(first.fork()), line(other.fork())
    load(leaving, "def answer():\n    return 1\n")
    load(staying, "def answer():\n    return 2\n")
    fork_server = first.server.process.popen
    assert other.server.process.popen is fork_server
    first.close()
    leaving.sock.settimeout(None)
    assert leaving.sock.recv(1) == b""
    assert call(staying, "answer") == 2
    with line(other.fork()) as second_line:
        load(second_line, "def answer():\n    return 3\n")
        assert call(second_line, "answer") == 3
    other.close()
    assert fork_server.returncode is not None


@pytest.mark.full(but=("jail",))
@pytest.mark.parametrize("moment", ["starting", "busy"])
def test_nothing_outlives_a_killed_judge(host: Host, tmp_path: Path, moment: str) -> None:
    source = f"""
import sys, time
from grader.remote import stream, wire
from grader.remote.budget import Budget
from grader.remote.channel import Channel
from grader.sandbox.host import Host
host = Host({PROGRAM!r}, {host.isolation!r})
if {moment!r} != "starting":
    child = Channel(host.fork(), Budget("All of it", 60.0, 60.0))
    deaf = "import signal; [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n % 10 != 9]"
    code = deaf + "\\nwhile True: pass"
    child.admit({{"work": code}}, rule={{}})
    load = {{"op": "load", "exercise": "work", "references": {{}}}}
    stream.send(child.sock, child.unsent + wire.encode(load))
    time.sleep(0.3)
print("here", flush=True)
time.sleep(60)
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(jail.ROOT)}
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as judge:
        assert judge.stdout is not None
        assert judge.stdout.readline() == b"here\n"
        processes = descendants(judge.pid)
        judge.kill()
    assert processes
    assert at_most(0, processes)
    assert not list(tmp_path.glob("grader-*"))


def test_memory_of_the_host_does_not_grow_with_children(host: Host) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        host.fork().close()
    with host.fork():
        assert len(host.server.living) == 1
    assert not host.server.endings
    assert not host.server.failures
    assert len(os.listdir("/proc/self/fd")) <= before


def test_without_pidfds_the_fork_server_kills(host: Host) -> None:
    child = host.fork()
    load(line(child), "")
    os.close(child.pidfd or 0)
    child.pidfd = None
    child.close()
    assert ask(host, "1") == 1


def test_an_unknown_isolation_is_refused() -> None:
    with pytest.raises(ValueError, match="jail, process, not 'none'"):
        Host(PROGRAM, "none")


def test_address_space_is_found_without_proc() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    result = lockdown.address_space()
    assert abs(result - pages * os.sysconf("SC_PAGE_SIZE")) < 64 << 20
