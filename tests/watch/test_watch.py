"""`grader watch`, as a student uses it: in a terminal, with an editor that saves in its own way."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from rich.console import Console

from grader.board import time_limit
from grader.board.progress import Progress
from grader.board.result import Result
from grader.board.time_limit import TookTooLong
from grader.board.workspace import Workspace
from grader.curriculum import NAMES
from grader.feedback.finding import Finding, Status
from grader.watch.events import KeyPressed, RunReported, Saved
from grader.watch.programs import Runs
from grader.watch.runner import _imported
from grader.watch.saves import Saves, _digest, _saved_at
from grader.watch.watching import Tools, Watch
from tests import ROOT

needs_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="pexpect needs a pty")
ANSWER = "return (ids != pad_id)"
SCALED = "return self.weight * "
SCALE = "math.sqrt(query.size(-1))"


# Noticing a save


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_in_the_folder_holds_nothing_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "masks.py")
    assert _digest(tmp_path / "masks.py") == ""
    assert list(_imported(tmp_path)) == []


def test_a_file_that_is_nested_too_deep_is_told_and_ends_nothing(tmp_path: Path) -> None:
    """Python gives up on it with a MemoryError, even on a file that no test has to do with."""
    deep = tmp_path / "deep.py"
    deep.write_text(f"x = {'-' * 200_000}1\n")
    assert list(_imported(tmp_path)) == []
    screen = io.StringIO()
    watch = Watch(Workspace(tmp_path, tmp_path), Tools(), Console(file=screen))
    watch._react(Saved([deep], 0.0))
    assert "deep.py is nested too deep for Python" in screen.getvalue()


class Heard:
    """A folder with one file that is watched, and what was noticed."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "masks.py"
        self.file.write_text("a = 1\n")
        self.queue: SimpleQueue[list[Path]] = SimpleQueue()
        self.saves = Saves(folder, lambda paths, _: self.queue.put(paths))
        time.sleep(0.2)  # until the system has been asked

    def next(self, seconds: float = 60.0) -> list[str]:
        try:
            return [path.name for path in self.queue.get(timeout=seconds)]
        except Empty:
            return []


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    made = Heard(tmp_path)
    yield made
    made.saves.close()


def written(file: Path) -> None:
    file.write_text("a = 2\n")


def renamed(file: Path) -> None:
    other = file.with_name("masks.py.tmp~")
    other.write_text("a = 2\n")
    other.replace(file)


def put_aside(file: Path) -> None:
    file.rename(file.with_name("masks.py~"))
    file.write_text("a = 2\n")


def emptied_first(file: Path) -> None:
    with file.open("w") as stream:
        stream.flush()
        time.sleep(0.3)
        stream.write("a = 2\n")


@pytest.mark.parametrize("way", [written, renamed, put_aside, emptied_first])
def test_a_save_is_noticed_once_however_the_editor_does_it(
    heard: Heard, way: Callable[[Path], None]
) -> None:
    way(heard.file)
    assert heard.next() == ["masks.py"]
    assert heard.next(0.3) == []


def test_a_save_that_changes_nothing_is_none(heard: Heard) -> None:
    heard.file.touch()
    heard.file.write_text("a = 1\n")
    assert heard.next(0.3) == []


def test_a_file_that_stays_away_is_noticed_in_the_end(heard: Heard) -> None:
    heard.file.unlink()
    assert heard.next() == ["masks.py"]


@pytest.mark.parametrize("hours", [-1, 0, 1])
def test_a_clock_that_is_set_makes_no_save_old(tmp_path: Path, hours: int) -> None:
    file = tmp_path / "masks.py"
    file.write_text("a = 1\n")
    written_at = time.time() + 3600 * hours
    os.utime(file, (written_at, written_at))
    now = time.monotonic()
    assert now - 2 <= _saved_at([file]) <= time.monotonic()


# A loop that does not end, on a machine without timers


def test_a_loop_is_cut_without_the_timers_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "setitimer", raising=False)
    monkeypatch.setattr(time_limit, "SECONDS", 0.2)
    monkeypatch.setattr(time_limit, "SECONDS_AFTER_THE_FIRST", 0.2)

    def loop() -> None:
        with time_limit.time_limit():
            while True:
                pass

    with pytest.raises(TookTooLong):
        loop()
    with time_limit.time_limit():
        pass


@pytest.mark.full(seconds=3)
def test_a_debugger_works_after_a_loop_was_cut_without_timers() -> None:
    """Python 3.11 never came back from the first call that it saw."""
    program = (
        "import signal, sys\n"
        "from grader.board import time_limit\n"
        "del signal.setitimer\n"
        "time_limit.SECONDS = 0.2\n"
        "try:\n"
        "    with time_limit.time_limit():\n"
        "        while True: pass\n"
        "except time_limit.TookTooLong:\n"
        "    sys.settrace(lambda *_: None)\n"
        "    (lambda: print('returned'))()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "returned\n", done.stderr


# Where it cannot run at all


@needs_a_terminal
def test_what_keeps_the_tests_from_running_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Python without torch, say: its last words are shown, and nobody's code is blamed."""
    no_python = tmp_path / "python"
    no_python.write_text("#!/bin/sh\necho No module named torch >&2\nexit 1\n")
    no_python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(no_python))
    heard: SimpleQueue[dict[str, object]] = SimpleQueue()
    runs = Runs(tmp_path, lambda _, message: heard.put(message))
    assert heard.get(timeout=300) == {"failed": "No module named torch"}
    runs.close()


# In a terminal


@needs_a_terminal
@pytest.mark.full(seconds=30)
def test_twelve_edits_in_a_terminal(tmp_path: Path) -> None:
    """From a wrong scale to the next exercise, over all that happens to a file on its way."""
    from tests.tools.watched import Terminal, make_workspace

    make_workspace(tmp_path, ["masks", "attention", "layer_norm"])
    terminal = Terminal(tmp_path)
    terminal.until("multi_head is to do")
    shown = terminal.until("quit")
    missing = "split_heads, merge_heads, MultiHeadAttention.__init__, MultiHeadAttention.forward."
    assert f"Not written yet: {missing}" in " ".join(shown.split())
    assert "3 of 8 exercises, up to 35 of 100 points" in shown
    # 1: wrong, with the public tests' message and the mistake's name from the hidden checks
    terminal.edit("attention", SCALE, "query.size(-1)")
    assert "by d_k, or by its square root?" in terminal.until("s after the save")
    assert "Your scores are divided by d_k" in terminal.until("quit")
    # Hints: what works, then the question, then the mistake.
    for number, words in enumerate(("What works", "variance", "Your scores are divided by d_k")):
        terminal.press("h")
        output = terminal.until("Ask again for the next hint.")
        assert words in output
        assert ("The first time" in output) is (number == 0)
    # 2: half typed
    terminal.edit("attention", "query.size(-1)", "math.sqrt(query.size(-1)")
    terminal.until("not valid Python yet ('(' was never closed)")
    # 3: right again, and on to what is next
    terminal.edit("attention", "math.sqrt(query.size(-1)", SCALE)
    terminal.until("attention is done")
    assert "multi_head is to do" in terminal.until("quit")
    # 4: an endless loop
    terminal.edit("masks", ANSWER, f"while True: pass\n    {ANSWER}")
    assert "Test 1 of" in terminal.until("is still running:")
    terminal.until("Your code didn't finish and was stopped.")
    assert "masks.py" in terminal.until("quit")
    # 5: the end of Python
    terminal.edit("masks", "while True: pass", "import os; os._exit(0)")
    terminal.until("ended Python itself")
    # 6: right
    terminal.edit("masks", "import os; os._exit(0)", "pass")
    terminal.until("masks is done")
    terminal.until("multi_head is to do")
    # 7: an exercise that builds on what is wrong
    terminal.edit("multi_head", "raise NotImplementedError", "raise ValueError")
    terminal.until("ValueError: multi_head")
    # 8: a name that is not there
    terminal.edit("layer_norm", SCALED, f"{SCALED}nonsense * ")
    terminal.until("name 'nonsense' is not defined")
    # 9 and 10: two saves in a breath; the second counts
    terminal.edit("layer_norm", f"{SCALED}nonsense * ", f"{SCALED}2 * ")
    terminal.edit("layer_norm", f"{SCALED}2 * ", SCALED)
    terminal.until("layer_norm is done")
    # 11: what the code prints does not come between
    terminal.edit("masks", "pass\n", "print('{', flush=True); input()\n")
    terminal.until("EOFError")
    # 12: out again
    terminal.edit("masks", "print('{', flush=True); input()\n", "pass\n")
    terminal.until("masks is done")
    terminal.press("s")
    terminal.until("Drawn in")
    terminal.press("l")
    assert "attention" in terminal.until("Points: up to 35")
    assert "pytest" not in terminal.until("press h for a hint")
    terminal.press("q")
    assert terminal.status() == 0


@needs_a_terminal
@pytest.mark.full(seconds=25)
def test_on_a_machine_without_fork(tmp_path: Path) -> None:
    """The same without forks and timers: each run has a process of its own that stands ready."""
    from tests.tools.watched import Terminal, make_workspace

    make_workspace(tmp_path, ["masks", "attention"])
    terminal = Terminal(tmp_path, "attention", forks=False)
    terminal.until("attention is done")
    terminal.until("multi_head is to do")
    terminal.edit("attention", SCALE, "query.size(-1)")
    assert "Hidden checks" not in terminal.until("quit")
    terminal.edit("attention", "query.size(-1)", "[0 for _ in iter(int, 1)]")
    terminal.until("Your code didn't finish and was stopped.")
    terminal.edit("attention", "[0 for _ in iter(int, 1)]", "query.size(-1)")
    terminal.edit("attention", "query.size(-1)", SCALE)
    terminal.until("attention is done")
    terminal.press("q")
    assert terminal.status() == 0


@pytest.mark.full(seconds=8)
@needs_a_terminal
def test_ctrl_c_ends_it_and_the_terminal_is_as_before(tmp_path: Path) -> None:
    import termios

    from tests.tools.watched import Terminal, make_workspace

    make_workspace(tmp_path, [])
    terminal = Terminal(tmp_path, "masks")
    terminal.until("quit")
    terminal.press("t")
    terminal.until("stay on your machine")
    held = terminal.process.child_fd
    assert not termios.tcgetattr(held)[3] & termios.ECHO
    terminal.process.sendintr()
    terminal.until("continues from here")
    deadline = time.monotonic() + 60
    while not termios.tcgetattr(held)[3] & termios.ECHO:
        assert time.monotonic() < deadline
    assert terminal.status() == 130


@pytest.mark.full(seconds=11)
def test_without_a_terminal_it_tells_each_verdict(tmp_path: Path) -> None:
    """Its output goes to a file, and there are no keys: it works all the same."""
    from tests.tools.watched import hear_ctrl_c, make_workspace

    folder = make_workspace(tmp_path, ["masks"])
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "grader", "watch", "masks"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        preexec_fn=hear_ctrl_c,
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any("attention is to do" in line for line in lines)
        file = folder / "masks.py"
        file.write_text(file.read_text("utf-8").replace(ANSWER, "return ids", 1), "utf-8")
        assert any("masks: wrong" in line for line in lines)
        process.send_signal(signal.SIGINT)
        assert "continues from here" in process.stdout.read()
    assert process.returncode == 130


def test_the_list_does_not_send_anybody_back_to_what_is_being_checked(tmp_path: Path) -> None:
    """`l` while the hidden checks of a finished exercise run: there is nothing to save in it."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    (folder / "test_masks.py").write_text("def test_all() -> None:\n    pass\n")
    console = Console(file=io.StringIO(), width=80)
    watch = Watch(Workspace(folder, tmp_path), Tools(), console)
    watch.keys, watch.current, watch.judging_since = {"l": "list"}, "masks", 1.0
    watch.progress["masks"] = Progress("masks", ("test_all",))
    watch.progress["masks"].add(Result("masks", "test_all", ""))
    watch._react(KeyPressed("l"))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "The hidden checks of masks are running." in shown
    assert "Next: masks" not in shown
    watch.judging_since = 0.0
    watch._react(KeyPressed("l"))
    assert "Next: masks" in console.file.getvalue()  # type: ignore[attr-defined]


def test_an_exercise_that_is_not_assigned_can_be_the_first(tmp_path: Path) -> None:
    """`grader watch swiglu` runs it along with the assigned ones, and judges it."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    watch = Watch(Workspace(folder, tmp_path), Tools(), Console(file=io.StringIO(), width=80))
    asked: list[str] = []

    class Quit(Runs):
        def __init__(self) -> None:
            pass

        def ask(self, exercises: Sequence[str], *_: object) -> int:
            asked.extend(exercises)
            watch.events.put(KeyPressed("q"))
            return 1

    watch.runs = Quit()
    assert watch._serve("swiglu") == 0
    assert "swiglu" not in watch.surveyed
    assert "swiglu" in asked
    assert {*watch.surveyed} <= {*asked}


class Asked(Runs):
    """Runs that only take down what is asked for."""

    def __init__(self) -> None:
        self.number, self.exercises = 0, [""]

    def ask(self, exercises: Sequence[str], *_: object) -> int:
        self.number, self.exercises = self.number + 1, list(exercises)
        return self.number


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ((), "encoder: wrong"),
        (("attention",), "encoder builds on attention, which isn't right yet: start there."),
        (
            ("attention", "layer_norm", "feed_forward"),
            "encoder builds on attention, layer_norm and feed_forward, which aren't right yet: "
            "start there.",
        ),
    ],
)
def test_a_save_during_the_first_run_blames_nothing_that_was_not_run(
    tmp_path: Path, wrong: tuple[str, ...], says: str
) -> None:
    """What the first run had not come to is run along with what was saved."""
    for name in NAMES:
        (tmp_path / f"test_{name}.py").write_text("def test_all() -> None:\n    pass\n")
    saved = tmp_path / "encoder.py"
    saved.write_text("")
    screen = io.StringIO()
    watch = Watch(Workspace(tmp_path, tmp_path), Tools(), Console(file=screen, width=80))
    runs = watch.runs = Asked()

    def report(name: str) -> None:
        status = Status.FAILED if name in {*wrong, "encoder"} else Status.PASSED
        result = Result(name, "test_all", "Title.", "", status, Finding("It is wrong."))
        message = {"progress": name, "results": [asdict(result)]}
        watch._react(RunReported(runs.number, message))

    watch._ask(watch.surveyed)
    report("masks")
    watch._react(Saved([saved], 1.0))
    exercises = runs.exercises
    for name in exercises:
        report(name)
    assert runs.number == 2, "Nothing is left to run."
    assert exercises[0] == "encoder"
    assert sorted([*exercises, "masks"]) == sorted(watch.surveyed)
    assert says in " ".join(screen.getvalue().split())
