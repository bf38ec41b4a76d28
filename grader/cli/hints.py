"""`grader hints`: the data by which `pytest exercises/ --hint` names mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader import curriculum
from grader.cli.app import AUTHORS, app, exercises_named
from grader.report.terminal import Terminal


@app.command("hints", rich_help_panel=AUTHORS)
def make_hints(
    exercise: Annotated[
        list[str] | None,
        typer.Argument(metavar="EXERCISE...", help="Only these. Default: all of them."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the data here instead of where the board looks for it."
        ),
    ] = None,
) -> None:
    """Make the data from which hints name mistakes; `--hint` makes it itself when needed."""
    from grader.grading.diagnosis import hint_data

    names = exercises_named(exercise) if exercise else curriculum.NAMES
    terminal = Terminal()
    for name in names:
        (file,) = [hint_data.keep(name)] if to is None else hint_data.write_hints(to, [name])
        terminal.say(f"{file} ({file.stat().st_size / 1024:.0f} KB)")
