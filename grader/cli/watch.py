"""`grader watch`: every save is judged at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from grader import curriculum
from grader.cli.app import STUDENTS, UsageError, app
from grader.sandbox.program import command


@app.command(rich_help_panel=STUDENTS)
def watch(
    exercise: Annotated[
        str,
        typer.Argument(
            metavar="[EXERCISE]", help="The exercise to start with. Default: the next one to do."
        ),
    ] = "",
    folder: Annotated[
        Path, typer.Option("--exercises", metavar="DIR", help="The folder with your files.")
    ] = Path("exercises"),
) -> None:
    """Judge your code at every save, and go on to the next exercise when one is done."""
    # Imported where they are used: the other commands need nothing of it.
    from grader.board.workspace import Workspace
    from grader.feedback.console import console
    from grader.watch.watching import ProgramError, Tools, Watch

    if exercise and exercise not in curriculum.NAMES:
        raise UsageError(curriculum.unknown(exercise))
    if folder == Path("exercises") and not folder.is_dir() and Path.cwd().name == "exercises":
        folder = Path.cwd()
    if not (folder / "conftest.py").is_file():
        raise UsageError(
            f"{folder} is not a folder of exercises. Go to the folder above it (cd), or name it: "
            "grader watch --exercises DIR"
        )
    workspace = Workspace(folder, Path.cwd())
    if exercise and not workspace.test_path(exercise).is_file():
        raise UsageError(
            f"There are no tests of {exercise} in {folder}: it is not assigned here. Assigned: "
            f"{', '.join(workspace.assigned)}."
        )
    hidden = _program("grader.grading.live", needs_forks=True)
    tools = Tools(hidden, show=bool(_program("grader.cli.show")))
    terminal = console()
    try:
        status = Watch(workspace, tools, terminal).run(exercise)
    except ProgramError as error:
        raise UsageError(f"The tests cannot be run here.\n{error}") from None
    raise typer.Exit(status)


def _program(module: str, needs_forks: bool = False) -> list[str]:
    """Return the command line for a module of the kit; empty where this edition is without it."""
    parts = module.split(".")
    path = Path(__file__).parents[1].joinpath(*parts[1:])
    if not path.with_suffix(".py").is_file() or (needs_forks and not hasattr(os, "fork")):
        return []
    return command(module)
