"""`grader release`: the student's edition."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import INSTRUCTORS, UsageError, app, exercises_named, names
from grader.report.terminal import Terminal


@app.command(rich_help_panel=INSTRUCTORS)
def release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for it.")],
    exercise: Annotated[list[str] | None, names("Assign this exercise")] = None,
    zip: Annotated[
        bool, typer.Option("--zip", help="Also pack it into one file: DIR.zip.")
    ] = False,
) -> None:
    """Make the student's edition: no answers, no hidden checks. Default: the core eight."""
    # Imported where it is used: hints are made with torch.
    from grader.release import edition

    terminal = Terminal()
    try:
        edition_made = edition.make(folder, exercises_named(exercise))
        packed = edition.zipped(edition_made) if zip else None
    except edition.EditionError as error:
        raise UsageError(str(error)) from None
    terminal.say(f"Made {folder}. Assigned: {', '.join(edition_made.exercises)}.")
    if edition_made.solved:
        names = ", ".join(edition_made.solved)
        terminal.say(f"Provided solved, since these or the capstone need them: {names}.")
    if packed is not None:
        terminal.say(f"Made {packed}.")
    terminal.say(f"A student runs: cd {folder} && pip install -c constraints.txt -e .")
