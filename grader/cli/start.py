"""`grader start`: a folder to work in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import STUDENTS, UsageError, app, exercises_named, names
from grader.release import edition, start
from grader.report.terminal import Terminal


@app.command("start", rich_help_panel=STUDENTS)
def start_work(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder to work in.")],
    exercise: Annotated[list[str] | None, names("Assign this exercise")] = None,
) -> None:
    """Make a folder to work in, with every exercise. The board counts the core eight."""
    try:
        start.make(folder, exercises_named(exercise))
    except edition.EditionError as error:
        raise UsageError(str(error)) from None
    terminal = Terminal()
    terminal.say(f"{folder} is ready. Next: cd {folder} && grader watch")
