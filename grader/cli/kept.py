"""Grades that were kept as JSON, with the points that were given by hand since."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from grader.cli.app import UsageError
from grader.feedback import records, results
from grader.report import overrides
from grader.report.terminal import Terminal
from grader.submission import Submission
from grader.submission.files import listed

_AGAIN = "Make one with: grader grade submissions/ --json "


def kept_report(file: Path) -> results.Report:
    """Return the report in a file, as it is there. Raises `UsageError`."""
    try:
        return results.report_from(records.loaded(file.read_bytes()))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}. {_AGAIN}grades.json") from None
    except ValueError as error:
        raise UsageError(
            f"{file} is damaged, or not a report that `grader grade --json` wrote "
            f"({str(error)[:200]}). {_AGAIN}NEW.json"
        ) from None


def require_replaceable(
    file: Path, submissions: Sequence[Submission], exercises: Sequence[str]
) -> None:
    """Raise `UsageError` where `file` holds anything but grades that a run makes anew."""
    if not file.exists() or not file.stat().st_size:
        return
    move = f"Name another file, or move this one: mv {shlex.quote(str(file))} FILE"
    try:
        report = results.report_from(records.loaded(file.read_bytes()))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}. {move}") from None
    except ValueError:
        raise UsageError(
            f"{file} is there already, and it is damaged or no report of grades. {move}"
        ) from None
    names = {work.name for work in submissions}
    others = [graded.submission for graded in report.submissions if graded.submission not in names]
    if others:
        raise UsageError(
            f"{file} holds the grades of {listed(others)}, whom this run does not grade: they "
            f"would be lost. {move}"
        )
    kept = {one.exercise for graded in report.submissions for one in graded.exercises}
    lost = sorted(kept - {*exercises})
    if lost:
        raise UsageError(
            f"{file} holds grades in {listed(lost)}, which this run does not grade: they would "
            f"be lost. {move}"
        )


def with_overrides(report: results.Report, file: Path, terminal: Terminal) -> results.Report:
    """Return the report with the points by hand that are kept beside the file `file`.

    Reports those that fit nothing in it. Raises `UsageError`.
    """
    report, unfit = overrides.applied(report, given_by_hand(file))
    for entry in unfit:
        terminal.complain(
            f"Points by hand that fit nothing here: {entry.submission}, {entry.exercise}, "
            f"{entry.check}, {entry.points:g} points ({entry.note})"
        )
    return report


def given_by_hand(file: Path) -> tuple[overrides.Given, ...]:
    """Return the points by hand that are kept beside the file `file`. Raises `UsageError`."""
    try:
        return overrides.read(overrides.path_of(file))
    except overrides.OverridesError as error:
        raise UsageError(str(error)) from None
