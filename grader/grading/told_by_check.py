"""What a check says in words, named where nothing else in the report says what is wrong.

A check that finds a missing buffer, an error that isn't raised or a wrong shape knows more than
which numbers are off. Where a known mistake, a line or a fact tells it, that is more precise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.feedback.mismatch import Mismatch
from grader.feedback.results import ExerciseResult
from grader.grading.raised import proven

TOLD = "told-by-a-check"


def with_what_a_check_tells(said: Mapping[str, Mismatch], result: ExerciseResult) -> ExerciseResult:
    """Return the result with what the first check that lost points says, if nothing else is said.

    One that recognises a slip by its numbers comes before those that only see the result.
    """
    if result.diagnoses or result.lines:
        return result
    lost = [check.check for check in result.checks if check.max_points]
    words = [said[name] for name in lost if name in said]
    for mismatch in sorted(words, key=lambda mismatch: not mismatch.names_cause)[:1]:
        finding = mismatch.finding
        return replace(
            result, diagnoses=(proven(TOLD, finding.headline, finding.help, mismatch.place),)
        )
    return result
