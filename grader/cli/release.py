"""`grader release`: the student's edition."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import INSTRUCTORS, UsageError, app, exercises_named
from grader.report.terminal import Terminal


@app.command(rich_help_panel=INSTRUCTORS)
def release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for it.")],
    exercise: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Ask for this exercise; may be given several times."),
    ] = None,
    zip: Annotated[bool, typer.Option("--zip", help="Make one file of it, too: DIR.zip.")] = False,
) -> None:
    """Make what students get: no answers, no hidden checks. Without --exercise, the core eight."""
    # Imported where it is used: hints are made with torch.
    from grader.course import edition

    terminal = Terminal()
    try:
        made = edition.make(folder, exercises_named(exercise))
    except edition.EditionError as error:
        raise UsageError(str(error)) from None
    terminal.say(f"{folder} is made. Asked for: {', '.join(made.exercises)}.")
    if made.solved:
        terminal.say(f"Handed out solved, since these need it: {', '.join(made.solved)}.")
    if zip:
        terminal.say(f"{edition.zipped(made)} is made.")
    terminal.say(f"A student runs: cd {folder} && pip install -c constraints.txt -e .")
