"""Work on exercises that a run does not grade, listed so that nobody takes it for missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.curriculum import stubs
from grader.feedback.results import PassedOver
from grader.submission.student import Submission

# How a file begins that a student's edition provides solved.
PROVIDED = "# Provided solved: other exercises use it, and it is not assigned.\n"
REASON = "this run does not grade that exercise (--exercise NAME does)"


def exercises(submission: Submission, graded: Sequence[str]) -> list[str]:
    """Return the exercises that the student wrote and that are not among those `graded`."""
    others = [name for name in submission.sources if name not in graded]
    if submission.cells and not submission.sources.keys().isdisjoint(graded):
        # Where a notebook has what is graded, a function of another exercise's name is a helper.
        marked = {cell.grade_id for cell in submission.cells}
        others = [name for name in others if name in marked]
    return [name for name in others if _is_own(submission.sources[name])]


def with_left_out(submission: Submission, graded: Sequence[str], chosen: bool) -> Submission:
    """Return the submission with that work passed over; `chosen` if somebody left it out."""
    passed = [
        PassedOver(f"the cells of {name}" if submission.cells else f"{name}.py", REASON, not chosen)
        for name in exercises(submission, graded)
    ]
    return replace(submission, passed_over=(*submission.passed_over, *passed))


def _is_own(source: str) -> bool:
    return not stubs.is_untouched(source) and not source.replace("\r\n", "\n").startswith(PROVIDED)
