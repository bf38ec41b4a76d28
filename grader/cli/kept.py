"""Grades that were kept as JSON, with the points that were given by hand since."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from grader.cli.app import UsageError
from grader.feedback import records, results
from grader.report import data, overrides
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


def put_aside(
    file: Path, submissions: Sequence[Submission], exercises: Sequence[str], terminal: Terminal
) -> None:
    """Rename `file` where it holds anything but grades that a run makes anew, and say so.

    The points by hand beside it go along. Raises `UsageError` where that cannot be done.
    """
    if not file.is_file() or not file.stat().st_size:
        return
    try:
        held = _not_made_anew(file, {work.name for work in submissions}, exercises)
        if not held:
            return
        aside = _free(file)
        given = overrides.path_of(file)
        if given.is_file():
            given.rename(overrides.path_of(aside))
        file.rename(aside)
    except OSError as error:
        raise UsageError(
            f"{file} can't be put aside: {error.strerror}. Name another file."
        ) from None
    terminal.complain(f"{file} held {held}. It is kept as {aside}.")


def keep_graded_before(
    file: Path,
    report: results.Report,
    graded: Iterable[results.SubmissionResult],
    terminal: Terminal,
) -> None:
    """Keep, beside `file`, what was `graded` before a run was stopped and isn't in its report now.

    Says so. Raises `OSError`.
    """
    here = {result.submission for result in report.submissions}
    gone = {result.submission: result for result in graded if result.submission not in here}
    if gone:
        aside = _free(file)
        data.write_json(replace(report, submissions=(*gone.values(),), passed_over=()), aside)
        terminal.complain(
            f"Graded before the run was stopped, and not among the submissions now: "
            f"{listed(gone)}. These grades are kept in {aside}."
        )


def _free(file: Path) -> Path:
    """Return the first of `grades-1.json`, `grades-2.json` and so on that isn't there."""
    numbered = (file.with_name(f"{file.stem}-{n}{file.suffix}") for n in itertools.count(1))
    return next(place for place in numbered if not place.exists())


def _not_made_anew(file: Path, names: AbstractSet[str], exercises: Sequence[str]) -> str:
    """Return what a file holds besides the grades of these submissions and exercises; or ""."""
    try:
        report = results.report_from(records.loaded(file.read_bytes()))
    except ValueError:
        return "something else than grades, or damaged ones"
    strangers = [
        graded.submission for graded in report.submissions if graded.submission not in names
    ]
    if strangers:
        return f"the grades of {listed(strangers)}, whom this run does not grade"
    held = {part.exercise for graded in report.submissions for part in graded.exercises}
    lost = sorted(held - {*exercises})
    return f"grades in {listed(lost)}, which this run does not grade" if lost else ""


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


def require_own_overrides(file: Path, folders: Iterable[Path]) -> None:
    """Raise `UsageError` where points by hand lie in one of these folders, which are students'."""
    given = overrides.path_of(file)
    place = given.absolute().parent.resolve()
    if given.exists() and any(place.is_relative_to(folder.resolve()) for folder in folders):
        raise UsageError(
            f"{given} lies among the student's own files, so these points by hand may be the "
            "student's. Name a file elsewhere for --json, and move your own points by hand there."
        )


def given_by_hand(file: Path) -> tuple[overrides.Given, ...]:
    """Return the points by hand that are kept beside the file `file`. Raises `UsageError`."""
    try:
        return overrides.read(overrides.path_of(file))
    except overrides.OverridesError as error:
        raise UsageError(str(error)) from None
