"""A report for other programs' tables: CSV for a spreadsheet, Gradescope's `results.json`."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from grader.feedback.results import (
    CheckResult,
    ExerciseResult,
    PassedOver,
    Report,
    SubmissionResult,
)
from grader.feedback.text import printable

# A spreadsheet takes a cell that begins so for a formula, and the names are the students'.
# So do the wide forms of these: https://owasp.org/www-community/attacks/CSV_Injection
# Where a comma is part of a number, a semicolon begins a cell.
_FORMULA = re.compile(r"(^|;)(?=\s*[=+\-@＝＋－＠\t\r])")


def as_csv(report: Report) -> str:
    """Return points: a row per submission, a column per exercise and per check (`exercise.check`).

    An empty cell is what could not be graded; the column `notes` is on points by hand.
    Lines end as RFC 4180 says.
    """
    columns = ["submission", "points", "max_points"]
    for submission in report.submissions:
        columns += [name for name in _points(submission) if name not in columns]
    columns.append("notes")
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writerow({name: cell(name) for name in columns})
    for submission in report.submissions:
        row: dict[str, Any] = {
            "submission": cell(submission.submission),
            "points": submission.points,
            "max_points": submission.max_points,
            "notes": cell("; ".join(_notes(submission))),
        }
        writer.writerow(row | _points(submission))
    return text.getvalue()


def _points(submission: SubmissionResult) -> dict[str, float | None]:
    points: dict[str, float | None] = {}
    for exercise in submission.exercises:
        points[exercise.exercise] = exercise.points
        for check in exercise.checks:
            points[f"{exercise.exercise}.{check.check}"] = check.points
    return points


def _notes(submission: SubmissionResult) -> Iterator[str]:
    for exercise in submission.exercises:
        for check in exercise.checks:
            if check.override:
                yield f"{exercise.exercise}.{check.check}: {check.by_hand}"


def cell(text: str) -> str:
    """Return a cell that a spreadsheet reads as text, whatever it begins with."""
    return printable(_FORMULA.sub(r"\1'", text))


def as_gradescope(submission: SubmissionResult, passed_over: Sequence[PassedOver] = ()) -> str:
    """Return the `results.json` that Gradescope reads from an autograder, one test a check.

    https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
    """
    tests = [test for exercise in submission.exercises for test in _tests(exercise)]
    sentences = [submission.integration.message] if submission.integration else []
    sentences += [f"Not graded: {entry.path}: {entry.reason}" for entry in passed_over]
    output = "\n".join(sentences)
    results = {
        "score": submission.points,
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "tests": tests,
    }
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


def _tests(exercise: ExerciseResult) -> list[dict[str, Any]]:
    if not exercise.checks:
        return [_test(exercise.exercise, exercise.points, exercise.max_points, exercise.message)]
    sentences = [exercise.message, *(diagnosis.in_full for diagnosis in exercise.diagnoses)]
    whole = "\n".join([*sentences, *(line.message for line in exercise.lines)]).strip()
    first, *further = exercise.checks
    return [_check(exercise, first, whole), *(_check(exercise, check, "") for check in further)]


def _check(exercise: ExerciseResult, check: CheckResult, before: str) -> dict[str, Any]:
    output = "\n\n".join(part for part in (check.by_hand, before, check.message) if part)
    title = f"{exercise.exercise}: {check.title}"
    return _test(title, check.points, check.max_points, output)


def _test(name: str, points: float | None, max_points: float, output: str) -> dict[str, Any]:
    return {
        "name": name,
        "score": points,
        "max_score": max_points,
        "status": "passed" if points == max_points else "failed",
        "output": output,
        "output_format": "text",
    }
