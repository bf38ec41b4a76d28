"""`grader hints`: the data by which known mistakes are named, made from them."""

from __future__ import annotations

from typing import Annotated

import typer

from grader import curriculum
from grader.cli.app import AUTHORS, UsageError, app, exercises_named, require_clone
from grader.recognition import prepared
from grader.report.terminal import Terminal


@app.command("hints", rich_help_panel=AUTHORS)
def make_hints(
    exercise: Annotated[
        list[str] | None,
        typer.Argument(metavar="EXERCISE...", help="Only these. Default: all of them."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a file is out of date.")
    ] = False,
) -> None:
    """Update the data by which mistakes are named, where mistakes, answers or checks changed."""
    require_clone()
    # Imported where it is used: checking needs no hidden checks.
    from grader.grading.diagnosis import hint_data

    terminal = Terminal()
    stale = prepared.stale(exercises_named(exercise) if exercise else curriculum.NAMES)
    if check and stale:
        terminal.complain(f"Out of date: {', '.join(stale)}. Run: grader hints")
        raise typer.Exit(1)
    for name in stale:
        try:
            file = hint_data.write(name)
        except OSError as error:
            raise UsageError(
                f"The data of {name} cannot be written: {error.strerror}. Run the command again."
            ) from None
        terminal.say(f"{'written':<10} {file} ({file.stat().st_size / 1024:.0f} KB)")
    if not stale:
        terminal.say("The data on all known mistakes is up to date.")
