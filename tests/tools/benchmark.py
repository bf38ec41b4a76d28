"""Prints how fast the kit is on this machine: `python -m tests.tools.benchmark [--submissions N]`.

With `--only mixed`, or `comparison`, `student`, `instructor`, `first`, only that part.

Both sides of every comparison are measured in one run, each as a process of its own. The class is
made of right answers that differ in a comment, so that none is graded twice. What it is compared
with is measured before it and after it, since a machine may be faster in one minute than in the
next.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from grader import curriculum
from grader.curriculum import stubs
from grader.curriculum.mistakes.variants import variants
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.grading.student_process import PROGRAM
from grader.quality.mutants import mutants
from grader.remote.budget import Budget
from grader.sandbox import lockdown
from grader.sandbox.host import Host
from grader.submission import Submission
from tests import ROOT

CORE = [exercise.name for exercise in curriculum.EXERCISES if exercise.core]
# The submissions hold answers to all exercises: a run that names none of them would end with 3.
GRADE_CORE = [
    *(sys.executable, "-m", "grader", "grade", "--seed", "1"),
    *(word for name in CORE for word in ("--exercise", name)),
]


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


def processor_seconds(command: Sequence[str | Path]) -> float:
    """The CPU time of a command and of all that it starts.

    A jail's processes end after the command that made it, and are waited for here.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds(command)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_submission(folder: Path, comment: str, others: Mapping[str, str] | None = None) -> None:
    """Right answers to everything but `others`, with a comment."""
    folder.mkdir(exist_ok=True)
    for name in curriculum.NAMES:
        text = f"{(others or {}).get(name) or stubs.reference_source(name)}\n# {comment}\n"
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
    grade = [*GRADE_CORE, "--isolation", isolation]
    torch = Yardstick(sys.executable, "-c", "import torch")
    fresh = Yardstick(*pytest, ROOT / "tests" / "tools" / "fresh_pytest.py", submission)
    first = Yardstick(*grade, class_folder / "student000")
    for yardstick in (torch, fresh, first):
        yardstick.measure(runs)
    whole = seconds([*grade, class_folder])
    for yardstick in (torch, fresh, first):
        yardstick.measure(runs)
    each = (whole - first.mean) / max(1, count - 1)
    rate = f"{count / whole:.1f} a second in all"
    print(f"import torch, before and after    {torch.mean:6.2f} s")
    print(f"fresh pytest, one submission      {fresh.mean:6.2f} s")
    print(f"grader grade, one submission      {first.mean:6.2f} s   isolation {isolation}")
    print(f"grader grade, {count:4} submissions    {whole:6.2f} s   {rate}")
    print(
        f"each further submission           {each:6.3f} s   fresh pytest: {fresh.mean / each:.1f} ×"
    )
    print(f"submissions in one import torch   {torch.mean / each:6.1f}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"largest process                   {peak:6} MB")


def wrong_answers(count: int, known: bool) -> list[dict[str, str]]:
    """A class's wrong answers, to a quarter of all files: known mistakes, or slips of the pen."""
    draw = random.Random(17)
    made = {
        name: [variant.source for variant in variants(name)]
        if known
        else [mutant.source for mutant in mutants(stubs.reference_source(name))]
        for name in CORE
    }
    files = [(number, name) for number in range(count) for name in CORE]
    members: list[dict[str, str]] = [{} for _ in range(count)]
    for number, name in draw.sample(files, len(files) // 4):
        members[number][name] = draw.choice(made[name])
    return members


def causes(count: int, isolation: str) -> None:
    """What it takes to name the mistakes of such a class's wrong answers, and to search for lines.

    It is the CPU time of the judge and of the students' code, without what is made once a class.
    """
    with patch.object(Budget, "spend", autospec=True, side_effect=Budget.spend) as spend:

        def clock() -> float:
            spent: float = sum(call.args[1].processor for call in spend.call_args_list)
            return time.process_time() + spent

        def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
            def run(judge: Judge, *arguments: Any) -> Any:
                begun = clock()
                try:
                    return function(judge, *arguments)
                finally:
                    seconds[-1] += clock() - begun

            return run

        for known, label in ((True, "known mistakes"), (False, "other slips")):
            named: list[float] = []
            searched: list[float] = []
            with (
                Host(PROGRAM, isolation) as host,
                patch.object(Judge, "_diagnosed", timed(Judge._diagnosed, named)),
                patch.object(Judge, "_confirms", timed(Judge._confirms, searched)),
                patch.object(Judge, "_with_lines", timed(Judge._with_lines, searched)),
            ):
                judge = Judge(CORE, Recordings(1), host, searches=True)
                judge.prepare()
                for answers in wrong_answers(count, known):
                    for name, source in answers.items():
                        spend.reset_mock()
                        named.append(0.0)
                        searched.append(0.0)
                        judge.grade(Submission(name, {name: source}))
            print(f"CPU time an exercise with {label}, of {len(named)}")
            for what, seconds in (("naming", named), ("searching", searched)):
                middle, most = statistics.median(seconds), max(seconds)
                print(f"  {what:<31} {middle:6.2f} s in the median, {most:.2f} s at most")


def mixed_class(folder: Path, count: int, isolation: str, rounds: int) -> None:
    """`grader grade` on a class in which a quarter of the files are wrong, and on a right one."""
    if lockdown.linux():
        lockdown.adopt_orphans()
    members_by_kind: dict[str, list[dict[str, str]]] = {
        "right": [{} for _ in range(count)],
        "mixed": wrong_answers(count, known=True),
        "slips": wrong_answers(count, known=False),
    }
    for kind, members in members_by_kind.items():
        (folder / kind).mkdir()
        for number, answers in enumerate(members):
            write_submission(folder / kind / f"student{number:03}", f"number {number}", answers)
    grade = [*GRADE_CORE, "--isolation", isolation]
    sides: dict[str, list[str | Path]] = {
        "all right": [*grade, folder / "right"],
        "a quarter known mistakes": [*grade, folder / "mixed"],
        "the same, --no-search": [*grade, "--no-search", folder / "mixed"],
        "a quarter other slips": [*grade, folder / "slips"],
        "those, --no-search": [*grade, "--no-search", folder / "slips"],
    }
    processor_seconds([*grade, folder / "mixed"])  # what is made once, fingerprints, is there then
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, command in sides.items():
            times[side].append(processor_seconds(command))
    right = statistics.mean(times["all right"])
    print(f"CPU time of grader grade, {count} submissions of {len(CORE)} exercises")
    for side, seconds in times.items():
        mean = statistics.mean(seconds)
        print(f"  {side:<31} {mean:6.1f} s   {mean / right:.2f} × the right one")


def first_wrong(folder: Path, isolation: str) -> None:
    """`grader grade` on one wrong answer, with an empty cache and once more, for each exercise."""
    print("one wrong answer, with an empty cache and again")
    grade = [sys.executable, "-m", "grader", "grade", "--isolation", isolation, "--seed", "1"]
    for name in curriculum.NAMES:
        wrong = folder / f"wrong {name}"
        wrong.mkdir()
        (wrong / f"{name}.py").write_text(variants(name)[0].source, encoding="utf-8")
        command: list[str | Path] = [*grade, "--exercise", name, wrong]
        with patch.dict(os.environ, XDG_CACHE_HOME=str(folder / f"cache {name}")):
            first, again = seconds(command), seconds(command)
        print(f"  {name:<31} {first:6.2f} s   {again:6.2f} s   {first - again:5.2f} s more")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=40)
    parser.add_argument("--isolation", choices=("jail", "process"), default="jail")
    parser.add_argument("--runs", type=int, default=3)
    parts = ("comparison", "student", "instructor", "first", "mixed")
    parser.add_argument("--only", choices=parts, help="this part, not all of them")
    chosen = parser.parse_args()
    wanted = [chosen.only] if chosen.only else parts
    if "comparison" in wanted:
        comparison()
    with TemporaryDirectory() as folder:
        if "student" in wanted:
            student_side(Path(folder), chosen.runs)
        if "instructor" in wanted:
            instructor_side(Path(folder), chosen.submissions, chosen.isolation, chosen.runs)
        if "first" in wanted:
            first_wrong(Path(folder), chosen.isolation)
        if "mixed" in wanted:
            mixed_class(Path(folder), chosen.submissions, chosen.isolation, chosen.runs)
            causes(chosen.submissions, chosen.isolation)


if __name__ == "__main__":
    main()
