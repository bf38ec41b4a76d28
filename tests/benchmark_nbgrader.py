"""nbgrader as released against nbgrader with the kit, on the same class of 20.

    python tests/benchmark_nbgrader.py [NUMBER] [EXERCISE ...]

nbgrader as released starts a kernel for each notebook and runs the public tests in it, which is
less than the hidden checks of the kit. Nobody in the class hangs, and no two notebooks are equal.
Without an exercise it is two assignments, one of attention alone and one of the core eight.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from grader.course import CONFIG, making
from grader.course.example_class import Cells, Member, find, grade_id, hand_in
from grader.curriculum import mistakes
from grader.submission.cells import POINTS

ROOT = Path(__file__).parent.parent
WRONG = [
    mistake
    for exercise in ("attention", "layer_norm", "masks", "positional", "multi_head")
    for mistake in mistakes.load(exercise)[:2]
]


def main() -> None:
    """Makes the class, grades it both ways and prints seconds a notebook."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    assignments = [sys.argv[2:]] if sys.argv[2:] else [["attention"], []]
    for exercises in assignments:
        compare(number, exercises)


def compare(number: int, exercises: list[str]) -> None:
    """Both ways for one assignment; no exercises stand for the core eight.

    The kit is measured before and after, on courses made anew: a machine's speed may drift.
    """
    with tempfile.TemporaryDirectory() as folder:
        ways = ("kit before", "stock", "kit after")
        before, stock, after = (measure(Path(folder) / way, number, exercises) for way in ways)
    kit = (before + after) / 2
    print(", ".join(exercises) or "the core eight")
    print(f"nbgrader stock  {stock:7.1f} s   {stock / number:6.2f} s a notebook")
    both = f"({before:.1f} s before, {after:.1f} s after)"
    print(f"nbgrader kit    {kit:7.1f} s   {kit / number:6.2f} s a notebook   {both}")
    print(f"the kit is {stock / kit:.1f} times as fast", flush=True)


def measure(course: Path, number: int, exercises: list[str]) -> float:
    """Seconds that `nbgrader autograde` takes for a class of `number`."""
    making.make(course, exercises=exercises)
    if run(course, "generate_assignment", making.DEFAULT_ASSIGNMENT).returncode:
        raise SystemExit("generate_assignment failed")
    hand_in(course, making.DEFAULT_ASSIGNMENT, tuple(map(member, range(number))))
    if course.name == "stock":
        (course / CONFIG).write_text("c = get_config()\n")
    elif shutil.which("bwrap") is None:
        with (course / CONFIG).open("a") as file:
            file.write("c.HandedIn.isolation = 'process'\n")
    start = time.monotonic()
    done = run(course, "autograde", making.DEFAULT_ASSIGNMENT)
    taken = time.monotonic() - start
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return taken


def member(number: int) -> Member:
    """Every second one has a mistake; each has a comment of their own."""

    def change(cells: Cells) -> Cells:
        if number % 2:
            there = {grade_id(cell) for cell in cells}
            wrong = [mistake for mistake in WRONG if mistake.exercise + POINTS in there]
            mistake = wrong[number // 2 % len(wrong)]
            cell = find(cells, mistake.exercise)
            cell.source = mistake.apply(cell.source)
        for cell in cells:
            if cell.cell_type == "code" and "def " in cell.source:
                cell.source = cell.source.replace("def ", f"MINE = {number}\n\n\ndef ", 1)
                break
        last = next(cell for cell in reversed(cells) if cell.metadata.nbgrader.get("solution"))
        last.source += f"\n\nNUMBER = {number}"
        return cells

    return Member(f"student{number:02}", "", change)


def run(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One of nbgrader's commands."""
    paths = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env={**os.environ, "PATH": paths, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    main()
