"""`grader report`: the page of a class, from results that were kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import INSTRUCTORS, UsageError, app, with_nbgrader
from grader.report import results
from grader.report.terminal import Terminal


@app.command(rich_help_panel=INSTRUCTORS)
def report(
    graded: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="The file of `grader grade --json`, or the folder of an nbgrader course.",
        ),
    ],
    html: Annotated[
        Path, typer.Option(metavar="DIR", help="Write the page of the class, and all others, here.")
    ],
    assignment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which assignment of a course. Default: its only one."),
    ] = None,
) -> None:
    """Show a class on one page: points, which mistakes were made, who is stuck, who to look at."""
    found = _of_course(graded, assignment) if graded.is_dir() else _of_file(graded)
    # Imported where it is used: jinja2 takes a while.
    from grader.report.html import write_pages

    terminal = Terminal()
    terminal.table(found.submissions)
    terminal.commonest(found.submissions)
    try:
        terminal.say(f"Open {write_pages(found, html)}")
    except OSError as error:
        raise UsageError(f"The pages could not be written: {error}.") from None


def _of_file(file: Path) -> results.Report:
    try:
        return results.report_from(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{file} cannot be read: {reason}. Make it with: grader grade submissions/ "
            f"--json {file.name}"
        ) from None


def _of_course(folder: Path, assignment: str | None) -> results.Report:
    with with_nbgrader():
        from grader.course.gradebook import class_report
        from grader.course.making import CourseError
    try:
        return class_report(folder, assignment)
    except CourseError as error:
        raise UsageError(str(error)) from None
