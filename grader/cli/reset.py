"""`grader reset`: the original file of an exercise."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import STUDENTS, UsageError, app, exercises_named
from grader.curriculum import stubs
from grader.report.terminal import Terminal


@app.command(rich_help_panel=STUDENTS)
def reset(
    exercise: Annotated[list[str], typer.Argument(metavar="EXERCISE...", help="Which to reset.")],
    folder: Annotated[
        Path, typer.Option("--exercises", metavar="DIR", help="The folder with your files.")
    ] = Path("exercises"),
) -> None:
    """Restore the original file of an exercise; what you wrote is kept beside it.

    `grader reset test_masks` restores the tests of masks.
    """
    terminal = Terminal()
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} here. Name it: --exercises DIR")
    exercises_named([name.removeprefix("test_") for name in exercise])
    for name in dict.fromkeys(exercise):
        of, is_tests = name.removeprefix("test_"), name.startswith("test_")
        fresh = stubs.tests_as_handed_out(of) if is_tests else stubs.as_handed_out(of)
        path = folder / f"{name}.py"
        if path.exists() and path.read_bytes() == fresh.encode():
            terminal.say(f"{path} is the original file.")
            continue
        try:
            backup = _replace(path, fresh)
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}. It is unchanged."
            ) from None
        if backup is not None:
            terminal.say(f"What you wrote is kept in {backup}.")
        terminal.say(f"{path} is the original file.")


def _replace(path: Path, fresh: str) -> Path | None:
    """Put a text into the file. Return where what it held is kept, None if it was not there.

    Raises `OSError`, and then the file is as it was.
    """
    backup = _free(path) if path.exists() else None
    if backup is not None:
        path.rename(backup)
    try:
        path.write_bytes(fresh.encode())
    except OSError:
        path.unlink(missing_ok=True)
        if backup is not None:
            backup.rename(path)
        raise
    return backup


def _free(path: Path) -> Path:
    """Return a name beside the file that nothing has yet, and that Python does not import."""
    names = (path.with_name(f"{path.name}.{number}") for number in itertools.count(1))
    return next(name for name in names if not name.exists())
