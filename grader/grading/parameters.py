"""What is wrong with a student's parameters or graph, named where no known mistake explains it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from grader.feedback.mismatch import Proven
from grader.feedback.results import ExerciseResult
from grader.grading.own_line import made_at
from grader.grading.raised import lines_of, misplaced_in, proven, proven_by

PARAMETERS = "parameters"


def with_parameters(
    mismatches: Mapping[str, Proven],
    result: ExerciseResult,
    source: str,
    unexplained: Collection[str],
) -> ExerciseResult:
    """Return the result with the first finding, of a check nothing explains, that needs no numbers.

    It is left out where the search has a line for the check, or another mistake shows its line or
    says the same.
    """
    names = [check.check for check in result.checks]
    found_by_search = {check for line in result.lines for check in line.checks or names}
    shown = set[int]().union(*map(lines_of, result.diagnoses))
    said = "\n".join(diagnosis.shows for diagnosis in result.diagnoses)
    for check, mismatch in mismatches.items():
        if check not in unexplained or check in found_by_search:
            continue
        if mismatch.finding.headline in said:
            continue
        if proven_by(mismatch, source, result.exercise) is not None:
            continue  # `without_effect` names the line that is the cause
        made = made_at(mismatch.parameter, result.exercise, source) if mismatch.parameter else ()
        if made and made[0].line in shown:
            continue
        if misplaced_in(result.exercise, source):
            made = ()  # that line may be right, and get the wrong sizes
        finding, place = mismatch.finding, made[0] if made else None
        named = proven(PARAMETERS, finding.headline, finding.help, place)
        return replace(result, diagnoses=(*result.diagnoses, named))
    return result
