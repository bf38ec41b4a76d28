"""The jail: what is visible in it, what its filter lets through, what is said where it fails."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from grader.grading.student_process import PROGRAM
from grader.remote.budget import Budget
from grader.remote.channel import Channel
from grader.sandbox import jail, lockdown, syscalls
from grader.sandbox.host import Host, HostError
from tests.tools.jailed import PROBLEMS

needs_jail = pytest.mark.skipif(bool(PROBLEMS), reason=f"The jail is not tested: {PROBLEMS}")
try:
    import pyseccomp
except (ImportError, RuntimeError):
    pyseccomp = None
needs_seccomp = pytest.mark.skipif(pyseccomp is None, reason="pyseccomp is not installed.")

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def run_filter(code: bytes, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What a filter decides on a system call: the kernel's machine for classic BPF, in Python."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *padded)
    program = list(struct.iter_unpack("<HBBI", code))
    accumulator = position = 0
    while True:
        operation, yes, no, value = program[position]
        position += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x05:
            position += value
        elif operation == 0x06:
            return int(value)
        else:
            holds = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[operation]
            position += yes if holds else no


def decide(machine: str, name: str, *arguments: int) -> int:
    code = syscalls.compile_filter(machine)
    number = pyseccomp.resolve_syscall(getattr(pyseccomp.Arch, syscalls.MACHINES[machine]), name)
    assert number >= 0, f"{machine} has no {name}"
    return run_filter(code, ARCHITECTURES[machine], number, arguments)


@needs_seccomp
@pytest.mark.parametrize("machine", syscalls.MACHINES)
class TestFilter:
    @pytest.mark.parametrize(
        "name",
        ["read", "write", "openat", "mmap", "futex", "exit_group", "clock_gettime", "getrandom"],
    )
    def test_arithmetic_and_files_are_allowed(self, machine: str, name: str) -> None:
        assert decide(machine, name) == ALLOW

    @pytest.mark.parametrize(
        "name",
        [
            *("execve", "execveat", "ptrace", "process_vm_readv", "pidfd_open", "pidfd_getfd"),
            *("socket", "socketpair", "connect", "sendmsg", "recvmsg", "io_uring_setup"),
            *("mount", "umount2", "unshare", "setns", "chroot", "pivot_root", "bpf", "keyctl"),
            *("setuid", "capset", "seccomp", "personality", "userfaultfd", "perf_event_open"),
            *("memfd_create", "shmget", "mq_open", "symlinkat", "linkat", "mknodat", "tkill"),
            *("sched_setaffinity", "setpriority", "rt_sigqueueinfo", "quotactl", "init_module"),
        ],
    )
    def test_everything_else_is_refused(self, machine: str, name: str) -> None:
        assert decide(machine, name) == EPERM

    def test_threads_but_no_processes(self, machine: str) -> None:
        thread, process, namespace = 0x003D0F00, 17, 0x00010000 | 0x10000000
        assert decide(machine, "clone", thread) == ALLOW
        assert decide(machine, "clone", process) == EPERM
        assert decide(machine, "clone", namespace) == EPERM
        assert decide(machine, "clone3") == ENOSYS

    def test_signals_to_itself_alone(self, machine: str) -> None:
        for name in ("kill", "tgkill"):
            assert decide(machine, name, 1) == ALLOW
            for target in (0, 2, 2**64 - 1, 1 << 32 | 1):
                assert decide(machine, name, target) == EPERM

    def test_no_typing_into_terminals(self, machine: str) -> None:
        assert decide(machine, "ioctl", 0, 0x5401) == ALLOW
        assert decide(machine, "ioctl", 0, 0x5412) == EPERM
        assert decide(machine, "prctl", 15) == ALLOW
        assert decide(machine, "prctl", 4) == EPERM

    def test_calls_of_other_architectures_end_the_process(self, machine: str) -> None:
        code = syscalls.compile_filter(machine)
        others = [number for name, number in ARCHITECTURES.items() if name != machine]
        for architecture in (*others, 0x40000003):
            assert run_filter(code, architecture, 1) == KILL

    def test_numbers_that_no_kernel_has_yet_are_refused(self, machine: str) -> None:
        code = syscalls.compile_filter(machine)
        assert run_filter(code, ARCHITECTURES[machine], 9999) == EPERM


def inside(program: str) -> str:
    """What a program prints that runs in the jail, before any child is locked in further."""
    line = jail.bubblewrap([*jail.interpreter(), program], PROGRAM)
    done = subprocess.run(line, capture_output=True, text=True, env=jail.environment(), timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_jail
def test_of_the_kit_only_what_runs_in_the_child_is_visible() -> None:
    walk = "import os\nfor folder, _, files in os.walk('/kit'):\n    for name in files:\n        "
    seen = inside(f"{walk}print(os.path.join(folder, name))").split()
    assert sorted(seen) == sorted(f"{jail.KIT}/{file}" for file in jail.kit_files(PROGRAM))


@needs_jail
def test_the_fork_server_imports_nothing_else_of_the_kit() -> None:
    packages = str(Path(torch.__file__).parents[1])
    program = (
        f"import sys; sys.path += [{packages!r}]; sys.path.insert(0, {jail.KIT!r}); "
        f"from grader.sandbox import zygote; import {PROGRAM}; "
        "print([n for n in sys.modules if n.partition('.')[0] in ('grader', 'solutions')])"
    )
    names = {file.removesuffix(".py").removesuffix("/__init__") for file in jail.kit_files(PROGRAM)}
    assert set(eval(inside(program))) == {name.replace("/", ".") for name in names}


@needs_jail
def test_an_installed_kit_is_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among installed packages the checks and solutions are as invisible as next to a clone."""
    site = tmp_path / "site-packages"
    for file in (*jail.kit_files(PROGRAM), "grader/checks/__init__.py", "solutions/attention.py"):
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(jail.ROOT / file, site / file)
    (site / "other.py").write_text("")
    monkeypatch.setattr(jail, "ROOT", site)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    seen = inside(
        f"import os\nfor folder, _, files in os.walk({str(site)!r}):\n    print(folder, files)"
    )
    assert seen == f"{site} ['other.py']\n{site}/solutions []\n{site}/grader []\n" or (
        seen == f"{site} ['other.py']\n{site}/grader []\n{site}/solutions []\n"
    )
    with Host(PROGRAM, "jail") as host, host.fork():
        pass


def test_nothing_of_anybodys_is_readable() -> None:
    paths = jail.readable()
    assert not {"/", "/etc", "/home", "/root", "/tmp", "/usr", "/var"} & set(paths)
    assert not any(Path(jail.ROOT).is_relative_to(path) for path in paths)
    for path in paths:
        others = [other for other in paths if other != path]
        assert not any(Path(path).is_relative_to(other) for other in others)


@needs_jail
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"filter": "00000000ffffffff" * 3}, "Invalid argument"),
        ({"readable": ["/nowhere"]}, "No such file"),
    ],
)
def test_without_a_layer_no_student_code_runs(
    change: dict[str, object], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = {**jail.layers(), **change}
    monkeypatch.setattr(jail, "layers", lambda: layers)
    refused = pytest.raises(HostError, match=f"could not be locked in: .*{reason}")
    with (
        Host(PROGRAM, "jail") as host,
        Channel(host.fork(), Budget("All of it", 60.0, 60.0)) as child,
        refused,
    ):
        child.admit({"work": ""}, rule={})
        child.load("work", references={})


@needs_jail
def test_without_a_filter_there_is_no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with pytest.raises(HostError, match="no filter on system calls"):
        Host(PROGRAM, "jail")


def test_without_bubblewrap_there_is_no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "bubblewrap", lambda command, _: ["no-such-program", *command])
    with pytest.raises(HostError, match=r"could not be started: .*no-such-program"):
        Host(PROGRAM, "jail")


def test_outside_of_a_jail_the_layers_refuse() -> None:
    layers = lockdown.Layers(b"", ())
    with pytest.raises(OSError, match="no pid namespace of its own"):
        layers.enter(lockdown.Limits(), 0)


class TestMissing:
    """The message where the jail is not available, with the command that fixes it."""

    def told(self) -> list[tuple[str, str]]:
        return [(problem.what, problem.fix) for problem in jail.missing()]

    @needs_jail
    def test_nothing_where_the_jail_works(self) -> None:
        assert self.told() == []

    def test_another_system(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setattr(platform, "system", lambda: "Darwin")
        assert self.told() == [
            (
                "The jail needs Linux; this is Darwin.",
                "Grade on Linux or in a Linux container, or without a jail.",
            )
        ]

    def test_another_processor_and_an_old_kernel(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(platform, "machine", lambda: "riscv64")
        monkeypatch.setattr(platform, "release", lambda: "5.4.0-42-generic")
        assert [what for what, _ in self.told()[:2]] == [
            "The jail knows the processors x86_64, aarch64; this is riscv64.",
            "The jail needs Linux 5.8 or newer; this is 5.4.0-42-generic.",
        ]

    @pytest.mark.parametrize(
        ("installer", "fix"),
        [
            ("apt-get", "sudo apt install bubblewrap"),
            ("dnf", "sudo dnf install bubblewrap"),
            ("pacman", "sudo pacman -S bubblewrap"),
            (None, "Install the package bubblewrap of your distribution."),
        ],
    )
    def test_no_bubblewrap(
        self, installer: str | None, fix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: name if name == installer else None)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert self.told()[0] == ("bubblewrap is not installed.", fix)

    @needs_jail
    @pytest.mark.parametrize(
        ("setting", "value", "fix"),
        [
            ("kernel.unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
            (
                "kernel.apparmor_restrict_unprivileged_userns",
                "1",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            ("user.max_user_namespaces", "0", "user.max_user_namespaces=15000"),
        ],
    )
    def test_forbidden_namespaces(
        self, setting: str, value: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path.joinpath(*setting.split("."))
        file.parent.mkdir()
        file.write_text(f"{value}\n")
        monkeypatch.setattr(jail, "SYSCTL", tmp_path)
        monkeypatch.setattr(jail, "bubblewrap", lambda *_: ["false"])
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert self.told() == [
            (
                f"This system forbids user namespaces ({setting} = {value}).",
                f"sudo sysctl -w {fix}",
            )
        ]

    @needs_jail
    def test_what_the_machine_says_is_passed_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jail, "bubblewrap", lambda *_: ["sh", "-c", "echo no >&2; exit 1"])
        monkeypatch.setattr(jail, "SYSCTL", tmp_path)
        assert self.told()[0][0] == "This system refuses the jail: no."


def test_capabilities_are_one_line_each() -> None:
    lines = jail.capabilities()
    assert [line.split("  ")[0] for line in lines] == [
        "system", "python", "torch", "bubblewrap", "seccomp", "pidfd", "Landlock", "threads",
        "huge pages", "jail",
    ]  # fmt: skip
    assert not any("\n" in line for line in lines)
    assert lines[-1].endswith("works") == (not PROBLEMS)
