"""`grader report`: the page of a class, from results that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import INSTRUCTORS, UsageError, app, require_targets, table, with_nbgrader
from grader.cli.kept import kept_report, with_overrides
from grader.feedback import results
from grader.report import data, tables
from grader.report.terminal import Terminal


@app.command(rich_help_panel=INSTRUCTORS)
def report(
    graded: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="The file that `grader grade --json` wrote, or the folder of an nbgrader course.",
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the page of the class and those of the students here."
        ),
    ] = None,
    csv: Annotated[Path | None, table()] = None,
    assignment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which assignment of a course. Default: its only one."),
    ] = None,
) -> None:
    """Show a class on one page: points, the mistakes that were made, who is stuck and where."""
    require_targets({".json": graded if graded.is_file() else None, ".csv": csv}, html)
    terminal = Terminal()
    if graded.is_dir():
        class_results = _of_course(graded, assignment)
    else:
        class_results = with_overrides(kept_report(graded), graded, terminal)
    terminal.table(class_results.submissions)
    terminal.class_notes(class_results)
    terminal.passed_over(class_results.passed_over)
    try:
        if csv is not None:
            data.write(csv, tables.as_csv(class_results))
        if html is not None:
            # Imported where it is used: jinja2 takes a while.
            from grader.report.html import write_pages

            terminal.say(f"Open {write_pages(class_results, html)}")
    except OSError as error:
        raise UsageError(f"The report could not be written: {error}.") from None


def _of_course(folder: Path, assignment: str | None) -> results.Report:
    with with_nbgrader():
        from grader.course.gradebook import class_report
        from grader.course.making import CourseError
    try:
        return class_report(folder, assignment)
    except CourseError as error:
        raise UsageError(str(error)) from None
