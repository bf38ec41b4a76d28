"""`grader watch`: every save is judged at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from grader import curriculum
from grader.cli.app import STUDENTS, UsageError, app


@app.command(rich_help_panel=STUDENTS)
def watch(
    exercise: Annotated[
        str, typer.Argument(metavar="[EXERCISE]", help="Where to begin. Default: what is next.")
    ] = "",
    folder: Annotated[
        Path, typer.Option("--exercises", metavar="DIR", help="The folder with your files.")
    ] = Path("exercises"),
) -> None:
    """Judge every save of yours at once, and go on to the next exercise when one is done."""
    # Imported where they are used: the other commands need nothing of it.
    from rich.console import Console

    from grader.board.watching import ProgramError, Tools, Watch
    from grader.board.workspace import Workspace

    if exercise and exercise not in curriculum.NAMES:
        there_are = ", ".join(curriculum.NAMES)
        raise UsageError(f"There is no exercise {exercise!r}. There are: {there_are}.")
    if folder == Path("exercises") and not folder.is_dir() and Path.cwd().name == "exercises":
        folder = Path.cwd()
    if not (folder / "conftest.py").is_file():
        raise UsageError(
            f"{folder} is no folder of exercises. Go to the folder that holds it (cd), or name it: "
            "grader watch --exercises DIR"
        )
    tools = Tools(_program("grader.judging.live", needs_forks=True), _program("grader.cli.show"))
    console = Console(highlight=False, emoji=False)
    try:
        status = Watch(Workspace(folder, Path.cwd()), tools, console).run(exercise)
    except ProgramError as error:
        raise UsageError(f"The tests cannot be run here.\n{error}") from None
    raise typer.Exit(status)


def _program(module: str, needs_forks: bool = False) -> list[str]:
    """The command line for a module of the kit; empty where this edition is without it."""
    parts = module.split(".")
    path = Path(__file__).parents[1].joinpath(*parts[1:])
    if not path.with_suffix(".py").is_file() or (needs_forks and not hasattr(os, "fork")):
        return []
    if module == "grader.cli.show":
        return [sys.executable, "-m", "grader", "show"]
    return [sys.executable, "-m", module]
