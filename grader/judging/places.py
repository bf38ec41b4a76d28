"""Says where in the notebook a line of an exercise's module stands, in what the judge found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from grader.feedback.finding import Finding, Place, Status
from grader.report.results import ExerciseResult, SubmissionResult

_MISSING = Finding(
    "The notebook defines none of its names: was the cell deleted, or a name changed?"
)

_LINE = re.compile(r"^(\w+\.py), line (\d+)(?=:)")

# For each exercise and line: where that stands, such as "cell of attention, line 5".
Places = Mapping[str, Sequence[str]]


def located(result: SubmissionResult, places: Places) -> SubmissionResult:
    """The result with "attention.py, line 12" as "cell of attention, line 5"."""
    exercises = tuple(_exercise(one, places) for one in result.exercises)
    return replace(result, exercises=exercises)


def _exercise(result: ExerciseResult, places: Places) -> ExerciseResult:
    missing = result.status is Status.MISSING
    finding = _MISSING if missing else _finding(result.finding, places)
    checks = tuple(replace(one, finding=_finding(one.finding, places)) for one in result.checks)
    remarks = tuple(_LINE.sub(partial(_cell, places), one) for one in result.remarks)
    return replace(result, finding=finding, checks=checks, remarks=remarks)


def _finding(finding: Finding | None, places: Places) -> Finding | None:
    if finding is None or not finding.places:
        return finding
    return replace(finding, places=tuple(_place(one, places) for one in finding.places))


def _cell(places: Places, found: re.Match[str]) -> str:
    place = _place(Place(found[1], int(found[2])), places)
    return f"{place.file}, line {place.line}"


def _place(place: Place, places: Places) -> Place:
    lines = places.get(place.file.removesuffix(".py"), ())
    known = lines[place.line - 1] if place.line <= len(lines) else ""
    cell, comma, number = known.rpartition(", line ")
    return replace(place, file=cell, line=int(number)) if comma else place
