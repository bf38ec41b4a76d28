"""Says which cell of the notebook a line stands in, in what the judge found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from grader.feedback.finding import Finding, Place, Status
from grader.report.results import ExerciseResult, SubmissionResult

_MISSING = Finding(
    "The notebook defines none of its names: was the cell deleted, or a name changed?"
)

_LINE = re.compile(r"^(\w+)\.py(?=, line \d+:)")
_QUOTED = re.compile(r"\b(\w+)\.py(?=, line \d+)")

# How each cell is called, by the name of its file in the process that ran it.
Labels = Mapping[str, str]


def located(result: SubmissionResult, labels: Labels) -> SubmissionResult:
    """The result with "cell_7.py, line 12" as "cell of attention, line 12"."""
    exercises = tuple(_exercise(one, labels) for one in result.exercises)
    return replace(result, exercises=exercises)


def _exercise(result: ExerciseResult, labels: Labels) -> ExerciseResult:
    missing = result.status is Status.MISSING
    finding = _MISSING if missing else _finding(result.finding, labels)
    checks = tuple(replace(one, finding=_finding(one.finding, labels)) for one in result.checks)
    remarks = tuple(_LINE.sub(partial(_cell, labels), one) for one in result.remarks)
    lines = tuple(replace(one, place=_place(one.place, labels)) for one in result.lines)
    diagnoses = tuple(
        replace(one, shows=_QUOTED.sub(partial(_cell, labels), one.shows))
        for one in result.diagnoses
    )
    told = replace(result, finding=finding, checks=checks, lines=lines, diagnoses=diagnoses)
    return replace(told, remarks=remarks)


def _finding(finding: Finding | None, labels: Labels) -> Finding | None:
    if finding is None or not finding.places:
        return finding
    return replace(finding, places=tuple(_place(one, labels) for one in finding.places))


def _cell(labels: Labels, found: re.Match[str]) -> str:
    return labels.get(found[1], found[0])


def _place(place: Place, labels: Labels) -> Place:
    return replace(place, file=labels.get(place.file.removesuffix(".py"), place.file))
