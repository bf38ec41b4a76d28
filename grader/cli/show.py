"""`grader show`: what a student's code computes, as a picture beside what is expected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import STUDENTS, UsageError, app, exercises_named
from grader.report.terminal import Terminal

_ENDINGS = (".png", ".svg")


@app.command(rich_help_panel=STUDENTS)
def show(
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="Such as attention.")],
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The folder with your files.")
    ] = Path("exercises"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw into this .png or .svg. Default: EXERCISE.png"),
    ] = None,
) -> None:
    """Draw what your code computes beside what is expected, and frame the differences.

    It runs your own code on your own machine, with a time limit and no other protection.
    """
    exercises_named([exercise])
    if folder == Path("exercises") and not folder.is_dir() and Path.cwd().name == "exercises":
        folder = Path.cwd()
    if not (folder / f"{exercise}.py").is_file():
        raise UsageError(
            f"There is no {folder / exercise}.py. Name the folder that it is in: "
            f"grader show {exercise} FOLDER"
        )
    file = out or Path(f"{exercise}.png")
    if file.suffix.lower() not in _ENDINGS:
        raise UsageError(f"{file}: a picture ends in {' or '.join(_ENDINGS)}.")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.parent} to write to.")
    # Imported where it is used, so that a wrong command fails without waiting for torch.
    from grader.board import showing

    terminal = Terminal()
    try:
        notes = showing.show(exercise, folder, file, Path.cwd())
    except showing.NotDrawnError as error:
        terminal.complain(f"{exercise}: nothing could be drawn. {error}")
        raise typer.Exit(1) from None
    for line in showing.sentences(exercise, notes):
        terminal.say(line)
    terminal.say(f"\nDrawn in {file}")
