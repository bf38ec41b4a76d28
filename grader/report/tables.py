"""A report for other programs' tables: CSV for a spreadsheet, Gradescope's `results.json`."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from grader.report.results import CheckResult, ExerciseResult, Report, SubmissionResult

# A spreadsheet takes a cell that begins so for a formula, and the names are the students'.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(report: Report) -> str:
    """One row a submission; one column an exercise, and one `exercise.check` a check: their points.

    An empty cell is what could not be graded. Lines end as RFC 4180 says.
    """
    columns = ["submission", "points", "max_points"]
    for submission in report.submissions:
        columns += [name for name in _points(submission) if name not in columns]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    for submission in report.submissions:
        row: dict[str, Any] = {
            "submission": cell(submission.submission),
            "points": submission.points,
            "max_points": submission.max_points,
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


def cell(text: str) -> str:
    """A text for a cell that a spreadsheet takes for a text, whatever it begins with."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_gradescope(submission: SubmissionResult) -> str:
    """The `results.json` that Gradescope reads from an autograder, one test a check.

    https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
    """
    tests = [test for exercise in submission.exercises for test in _tests(exercise)]
    output = submission.integration.message if submission.integration else ""
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
    said = [exercise.message, *(one.in_full for one in exercise.diagnoses)]
    whole = "\n".join([*said, *(one.message for one in exercise.lines)]).strip()
    first, *others = exercise.checks
    return [_check(exercise, first, whole), *(_check(exercise, one, "") for one in others)]


def _check(exercise: ExerciseResult, check: CheckResult, before: str) -> dict[str, Any]:
    output = "\n\n".join(part for part in (before, check.message) if part)
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
