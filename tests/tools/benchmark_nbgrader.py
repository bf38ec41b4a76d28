"""nbgrader as released against nbgrader with the kit, on the same class of 40.

    python -m tests.tools.benchmark_nbgrader [--students N] [--exercise NAME ...]

`autograde` and then `generate_feedback`, on the wall and in CPU time, that of all processes
they start included. nbgrader as released starts a kernel for each notebook and runs the public
tests in it, which is less than the hidden checks of the kit; the kit's commands are started as
README says, by `grader nbgrader`. Nobody in the class hangs, and no two notebooks are equal.
Without an exercise it is the core eight. The whole class is graded both ways, nothing is scaled.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sysconfig
import tempfile
from pathlib import Path

from grader.course import CONFIG, making
from grader.course.example_class import Cells, Member, find, grade_id, hand_in
from grader.curriculum import mistakes
from grader.submission.cells import POINTS
from tests.tools import costs
from tests.tools.costs import Cost

STEPS = ("autograde", "generate_feedback")
WRONG = [
    mistake
    for exercise in ("attention", "layer_norm", "masks", "positional", "multi_head")
    for mistake in mistakes.load(exercise)[:2]
]


def main() -> None:
    """Makes the class, grades it both ways and prints what it costs.

    The kit is measured before and after, on courses made anew: a machine's speed may drift.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--exercise", action="append", default=[])
    options = parser.parse_args()
    print(f"{', '.join(options.exercise) or 'the core eight'}, a class of {options.students}")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in ("kit before", "stock", "kit after"):
            steps = measure(Path(folder) / way, options.students, options.exercise)
            results[way] = sum(steps[1:], steps[0])
            for step, cost in zip(STEPS, steps, strict=True):
                print(f"{way:<11} {step:<18}{cost}", flush=True)
    kit, stock = (results["kit before"] + results["kit after"]) / 2, results["stock"]
    print(f"nbgrader stock, both steps    {stock}")
    print(f"nbgrader with the kit         {kit}")
    print(
        f"the kit is {stock.wall / kit.wall:.1f} times as fast on the wall, "
        f"{stock.processor / kit.processor:.1f} times in CPU time"
    )


def measure(course: Path, number: int, exercises: list[str]) -> list[Cost]:
    """What nbgrader's steps cost for a class of `number`."""
    stock = course.name == "stock"
    making.make(course, exercises=exercises)
    run(course, False, "generate_assignment", making.DEFAULT_ASSIGNMENT)
    hand_in(course, making.DEFAULT_ASSIGNMENT, tuple(map(member, range(number))))
    if stock:
        (course / CONFIG).write_text("c = get_config()\n")
    elif shutil.which("bwrap") is None:
        with (course / CONFIG).open("a") as file:
            file.write("c.Submitted.isolation = 'process'\n")
    steps = [run(course, not stock, step, making.DEFAULT_ASSIGNMENT) for step in STEPS]
    pages = len(list((course / "feedback").glob("*/*/*.html")))
    if pages != number:
        raise SystemExit(f"{pages} of {number} pages of feedback")
    return steps


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


def run(course: Path, by_the_kit: bool, *arguments: str) -> Cost:
    """What one of nbgrader's commands costs."""
    paths = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    command = ["-m", *(["grader"] if by_the_kit else []), "nbgrader", *arguments]
    return costs.of_command(command, course, PATH=paths)


if __name__ == "__main__":
    main()
