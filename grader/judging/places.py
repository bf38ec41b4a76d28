"""Says where in the notebook a line of an exercise's module stands, in what the judge found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.report.results import CheckResult, ExerciseResult, SubmissionResult

_LINE = re.compile(r"^(\s*)(\w+)\.py, line (\d+)(?=:)", re.MULTILINE)
_MISSING = "The notebook defines none of its names: was the cell deleted, or a name changed?"

Places = Mapping[str, Sequence[str]]


def located(result: SubmissionResult, places: Places) -> SubmissionResult:
    """The result with "attention.py, line 12" as "cell of attention, line 5"."""
    exercises = tuple(_exercise(one, places) for one in result.exercises)
    return replace(result, exercises=exercises)


def _exercise(result: ExerciseResult, places: Places) -> ExerciseResult:
    message = _MISSING if result.status == "missing" else _located(result.message, places)
    checks = tuple(_check(check, places) for check in result.checks)
    return replace(result, message=message, checks=checks)


def _check(result: CheckResult, places: Places) -> CheckResult:
    return replace(result, message=_located(result.message, places))


def _located(message: str, places: Places) -> str:
    def place(found: re.Match[str]) -> str:
        lines = places.get(found[2], ())
        number = int(found[3])
        known = lines[number - 1] if 0 < number <= len(lines) else ""
        return found[1] + known if known else found[0]

    return _LINE.sub(place, message)
