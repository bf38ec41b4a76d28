"""Grades that were kept as JSON, with the points that were given by hand since."""

from __future__ import annotations

from pathlib import Path

from grader.cli.app import UsageError
from grader.feedback import records, results
from grader.report import overrides
from grader.report.terminal import Terminal

_AGAIN = "Make it with: grader grade submissions/ --json "


def kept_report(file: Path) -> results.Report:
    """Return the report in a file, as it is there. Raises `UsageError`."""
    try:
        return results.report_from(records.loaded(file.read_bytes()))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}. {_AGAIN}{file.name}") from None
    except ValueError as error:
        raise UsageError(
            f"{file} cannot be read: {str(error)[:200]}. Delete it. {_AGAIN}{file.name}"
        ) from None


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
