"""Prints what a notebook costs more than the same answers as files.

`python -m tests.tools.benchmark_notebook [COUNT]`. Both classes are right answers to the core eight
that differ in a comment; in the notebooks a small demonstration stands below each answer. Processor
time of the whole machine is what both sides share, so they take turns.
"""

from __future__ import annotations

import sys
import time

from grader import curriculum
from grader.course import building
from grader.curriculum import stubs
from grader.grading import workers
from grader.submission import Submission
from grader.submission.cells import Cell
from grader.submission.notebook import layout

CORE = tuple(exercise.name for exercise in curriculum.EXERCISES if exercise.core)
DEMO = "import torch\nx = torch.randn(4, 16, 32)\nfor _ in range(20): (x @ x.mT).softmax(-1)\n"


def notebook(number: int) -> Submission:
    """A right notebook with demonstrations, unlike any other."""
    cells = []
    for cell in building.notebook("benchmark", CORE).cells:
        name = str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        code = cell.cell_type == "code"
        cells.append(Cell(cell.cell_type, cell.source if code else "", name))
        if name in CORE:
            cells.append(Cell("code", f"{DEMO}# {number}"))
    return Submission(f"n{number}", layout(cells).sources(), cells=tuple(cells))


def files(number: int) -> Submission:
    """The same answers as files."""
    sources = {name: f"{stubs.reference_source(name)}\n# {number}\n" for name in CORE}
    return Submission(f"f{number}", sources)


def seconds(submissions: list[Submission]) -> float:
    """What it takes one worker to grade them all; each must get full marks."""
    begun = time.perf_counter()
    for result in workers.grade(submissions, workers.Plan(CORE, 1, "jail", 1)):
        if result.points != result.max_points:
            sys.exit(f"{result.submission} has {result.points} of {result.max_points} points")
    return time.perf_counter() - begun


def main() -> None:
    """Measures and prints."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for label, make in (("files", files), ("notebooks", notebook), ("files again", files)):
        first, many = seconds([make(0)]), seconds([make(number) for number in range(count + 1)])
        print(f"each further submission, {label:<12} {(many - first) / count:6.3f} s")


if __name__ == "__main__":
    main()
