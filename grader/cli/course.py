"""The commands for an nbgrader course: `grader course` and `grader demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from grader.cli.app import INSTRUCTORS, UsageError, app, exercises_named, names, with_nbgrader
from grader.report.terminal import Terminal
from grader.sandbox import jail

DEFAULT_ASSIGNMENT = "transformer"


@app.command(rich_help_panel=INSTRUCTORS)
def course(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the course.")],
    assignment: Annotated[
        str, typer.Option(metavar="NAME", help="The assignment to make or to update.")
    ] = DEFAULT_ASSIGNMENT,
    exercise: Annotated[list[str] | None, names("An exercise to include")] = None,
) -> None:
    """Make an nbgrader course, or update one; the instructor's changes are kept."""
    if exercise:
        exercises_named(exercise)
    with with_nbgrader():
        from grader.course import making
    try:
        result = making.make(folder, assignment, exercise or ())
    except making.CourseError as error:
        raise UsageError(str(error)) from None
    for sentence in result:
        Terminal().say(sentence)


@app.command(rich_help_panel=INSTRUCTORS)
def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="A new folder for it. Default: a temporary one."),
    ] = None,
    students: Annotated[int, typer.Option(min=2, help="How many students submit.")] = 12,
) -> None:
    """Show the whole workflow on a made-up class: course, notebooks, grades, feedback pages."""
    with with_nbgrader():
        from grader.course import demo as example
        from grader.course import making
    terminal = Terminal()
    course = Path(mkdtemp(prefix="transformer-by-hand-")) / "course" if folder is None else folder
    problems = jail.missing()
    if problems:
        missing = problems[0]
        terminal.say(f"Students' code runs without a jail here. {missing.what} {missing.fix}")
    try:
        for shown in example.run(course, "process" if problems else "jail", students):
            terminal.say(shown) if isinstance(shown, str) else terminal.exercise(shown)
    except (example.DemoError, making.CourseError) as error:
        raise UsageError(str(error)) from None


@app.command(
    "nbgrader",
    rich_help_panel=INSTRUCTORS,
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def run_nbgrader(context: typer.Context) -> None:
    """Run an nbgrader command with a faster start: grader nbgrader autograde transformer."""
    with with_nbgrader():
        from nbgrader.apps.nbgraderapp import main
    sys.argv = ["nbgrader", *context.args]
    main()
