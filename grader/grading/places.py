"""Translate the lines in the judge's findings to cells of the notebook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from grader.feedback.finding import Finding, Place, Status
from grader.feedback.results import ExerciseResult, SubmissionResult

_MISSING = Finding(
    "The notebook defines none of its names: was the cell deleted, or a name changed?"
)

_LINE = re.compile(r"^(\w+)\.py(?=, line \d+:)")
_QUOTED = re.compile(r"\b(\w+)\.py(?=, line \d+)")

# How each cell is called, by the name of its file in the process that ran it.
Labels = Mapping[str, str]


def located(result: SubmissionResult, labels: Labels) -> SubmissionResult:
    """Return the result with "cell_7.py, line 12" as "cell of attention, line 12"."""
    exercises = tuple(_exercise(exercise, labels) for exercise in result.exercises)
    return replace(result, exercises=exercises)


def _exercise(result: ExerciseResult, labels: Labels) -> ExerciseResult:
    missing = result.status is Status.MISSING
    finding = _MISSING if missing else _finding(result.finding, labels)
    checks = tuple(
        replace(check, finding=_finding(check.finding, labels)) for check in result.checks
    )
    remarks = tuple(_LINE.sub(partial(_cell, labels), remark) for remark in result.remarks)
    lines = tuple(replace(line, place=_place(line.place, labels)) for line in result.lines)
    diagnoses = tuple(
        replace(diagnosis, shows=_QUOTED.sub(partial(_cell, labels), diagnosis.shows))
        for diagnosis in result.diagnoses
    )
    shown = replace(result, finding=finding, checks=checks, lines=lines, diagnoses=diagnoses)
    return replace(shown, remarks=remarks)


def _finding(finding: Finding | None, labels: Labels) -> Finding | None:
    if finding is None or not finding.places:
        return finding
    return replace(finding, places=tuple(_place(place, labels) for place in finding.places))


def _cell(labels: Labels, match: re.Match[str]) -> str:
    return labels.get(match[1], match[0])


def _place(place: Place, labels: Labels) -> Place:
    return replace(place, file=labels.get(place.file.removesuffix(".py"), place.file))
