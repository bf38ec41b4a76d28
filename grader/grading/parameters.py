"""What is wrong with a student's parameters or graph, named where no known mistake explains it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from grader.feedback import text
from grader.feedback.mismatch import Proven
from grader.feedback.results import Diagnosis, ExerciseResult
from grader.grading.own_line import made_at
from grader.grading.raised import lines_of, misplaced_in, proven_by
from grader.remote.session import clean

PARAMETERS = "parameters"


def with_parameters(
    proven: Mapping[str, Proven],
    result: ExerciseResult,
    source: str,
    unexplained: Collection[str],
) -> ExerciseResult:
    """Return the result with the first finding, of a check nothing explains, that needs no numbers.

    It is left out where the search has a line for the check, or another mistake shows its line.
    """
    names = [check.check for check in result.checks]
    found_by_search = {check for line in result.lines for check in line.checks or names}
    shown = set[int]().union(*map(lines_of, result.diagnoses))
    for check, mismatch in proven.items():
        if check not in unexplained or check in found_by_search:
            continue
        if proven_by(mismatch.finding.headline, source, result.exercise) is not None:
            continue  # the line that is the cause is told
        made = made_at(mismatch.parameter, result.exercise, source) if mismatch.parameter else ()
        if made and made[0].line in shown:
            continue
        if misplaced_in(result.exercise, source):
            made = ()  # that line may be right, and get the wrong sizes
        finding = mismatch.finding
        message = "\n".join(clean(words) for words in (finding.headline, finding.help) if words)
        where = f"Look at {text.place(made[0])}" if made else ""
        named = Diagnosis((PARAMETERS,), message, (), where)
        return replace(result, diagnoses=(*result.diagnoses, named))
    return result
