"""Prints how fast the kit is on this machine: `python tests/benchmark.py [--submissions N]`.

Both sides of every comparison are measured in one run, each as a process of its own. The class is
made of right answers that differ in a comment, so that none is graded twice. What it is compared
with is measured before it and after it, since a machine may be faster in one minute than in the
next.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from grader import curriculum
from grader.curriculum import stubs

ROOT = Path(__file__).resolve().parent.parent
CORE = [exercise.name for exercise in curriculum.EXERCISES if exercise.core]


def seconds(command: Sequence[str | Path], cwd: Path = ROOT) -> float:
    """The wall-clock time of a command, which may end with status 0 or 1."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started


def median(command: Sequence[str | Path], runs: int, cwd: Path = ROOT) -> float:
    """The median time of a few runs, after one that warms the disk cache."""
    seconds(command, cwd)
    return statistics.median(seconds(command, cwd) for _ in range(runs))


class Yardstick:
    """A command that is timed in rounds, with other things in between."""

    def __init__(self, *command: str | Path) -> None:
        self.command = command
        self.times: list[float] = []

    def measure(self, runs: int) -> None:
        """Times another round."""
        self.times += [seconds(self.command) for _ in range(runs)]

    @property
    def mean(self) -> float:
        """The mean of all rounds."""
        return statistics.mean(self.times)


def comparison() -> None:
    """What a hidden check pays to compare a right result, thousands of times a submission."""
    import torch

    from grader.feedback.comparison import assert_matches

    expected = torch.randn(3, 5, 4, dtype=torch.float64)
    actual = (expected + 1e-9).requires_grad_()
    axes = ("batch", "query", "key")
    runs = timeit.repeat(lambda: assert_matches(actual, expected, axes=axes), number=200, repeat=9)
    print(f"comparing one right result        {min(runs) / 200 * 1e6:6.1f} µs")


def write_desk(folder: Path, solved: bool) -> None:
    """A folder to run `pytest exercises/` in."""
    subprocess.run(["cp", "-r", ROOT / "exercises", folder], check=True)
    if solved:
        write_submission(folder / "exercises", "solved")


def write_submission(folder: Path, comment: str) -> None:
    """Right answers to everything, with a comment."""
    folder.mkdir(exist_ok=True)
    for name in curriculum.NAMES:
        text = f"{stubs.reference_source(name)}\n# {comment}\n"
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def student_side(folder: Path, runs: int) -> None:
    """`pytest exercises/` against a bare `import torch`."""
    torch = median([sys.executable, "-c", "import torch"], runs)
    print(f"import torch                      {torch:6.2f} s")
    for solved in (False, True):
        desk = folder / ("solved" if solved else "untouched")
        desk.mkdir()
        write_desk(desk, solved)
        taken = median([sys.executable, "-m", "pytest", "exercises/"], runs, desk)
        label = f"pytest exercises/ ({desk.name})"
        print(f"{label:<33} {taken:6.2f} s   {taken / torch:.2f} × import torch")


def instructor_side(folder: Path, count: int, isolation: str, runs: int) -> None:
    """`grader grade` on a class against a fresh pytest for each submission."""
    class_folder = folder / "class"
    class_folder.mkdir()
    for number in range(count):
        write_submission(class_folder / f"student{number:03}", f"number {number}")
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    submission = f"--submission={class_folder / 'student000'}"
    grade = [sys.executable, "-m", "grader", "grade", "--isolation", isolation, "--seed", "1"]
    torch = Yardstick(sys.executable, "-c", "import torch")
    fresh = Yardstick(*pytest, ROOT / "tests" / "fresh_pytest.py", submission)
    one = Yardstick(*grade, class_folder / "student000")
    for yardstick in (torch, fresh, one):
        yardstick.measure(runs)
    whole = seconds([*grade, class_folder])
    for yardstick in (torch, fresh, one):
        yardstick.measure(runs)
    each = (whole - one.mean) / max(1, count - 1)
    rate = f"{count / whole:.1f} a second in all"
    print(f"import torch, before and after    {torch.mean:6.2f} s")
    print(f"fresh pytest, one submission      {fresh.mean:6.2f} s")
    print(f"grader grade, one submission      {one.mean:6.2f} s   isolation {isolation}")
    print(f"grader grade, {count:4} submissions    {whole:6.2f} s   {rate}")
    print(
        f"each further submission           {each:6.3f} s   fresh pytest: {fresh.mean / each:.1f} ×"
    )
    print(f"submissions in one import torch   {torch.mean / each:6.1f}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"largest process                   {peak:6} MB")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=40)
    parser.add_argument("--isolation", choices=("jail", "process"), default="jail")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    comparison()
    with TemporaryDirectory() as folder:
        student_side(Path(folder), arguments.runs)
        instructor_side(Path(folder), arguments.submissions, arguments.isolation, arguments.runs)


if __name__ == "__main__":
    main()
