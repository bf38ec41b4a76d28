"""What the commands share: the application, errors and exit statuses."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from grader import __version__, curriculum
from grader.curriculum import project
from grader.sandbox import jail, lockdown

USAGE, NOT_GRADED = 2, 3
STUDENTS, INSTRUCTORS, AUTHORS = "For students", "For instructors", "For maintainers"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"transformer-by-hand {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the kit's version and exit."
        ),
    ] = False,
) -> None:
    """Write a Transformer by hand, and grade the exercises of those who do."""
    del version  # its callback has printed it


def names(does: str) -> Any:
    """Return the option `--exercise NAME` of a command that `does` something with each."""
    return typer.Option("--exercise", metavar="NAME", help=f"{does}; may be given several times.")


def table() -> Any:
    """Return the option `--csv FILE` of a command that has the results of a class."""
    return typer.Option(
        "--csv",
        metavar="FILE",
        help="Write a table here: one row per student, one column per check.",
    )


class UsageError(Exception):
    """A command cannot be carried out. The message says why and what to do."""


class Isolation(StrEnum):
    """How a student's code is isolated from the machine."""

    JAIL = "jail"
    PROCESS = "process"


def exercises_named(names: list[str] | None) -> tuple[str, ...]:
    """Return the named exercises in the curriculum's order; the core eight if none is named.

    Raises UsageError for a name that no exercise has.
    """
    if not names:
        return tuple(exercise.name for exercise in curriculum.EXERCISES if exercise.core)
    for name in names:
        if name not in curriculum.NAMES:
            raise UsageError(_several(name) or curriculum.unknown(name))
    return tuple(name for name in curriculum.NAMES if name in names)


def _several(name: str) -> str:
    """Return what to write instead of several exercises in one option; "" if that's not it."""
    parts = re.split(r"[\s,;]+", name.strip())
    if len(parts) < 2 or not {*parts} <= {*curriculum.NAMES}:
        return ""
    options = " ".join(f"--exercise {part}" for part in parts)
    return f"One exercise for each option: {options}"


def require_targets(files: Mapping[str, Path | None], folder: Path | None) -> None:
    """Raise UsageError where a file or the folder of pages can't be written, before any work.

    `files` maps the usual ending of each file's name to the file.
    """
    endings = {file: ending for ending, file in files.items() if file is not None}
    written = [file for file in files.values() if file is not None]
    for target in (*written, *([folder] if folder is not None else [])):
        parent = target.absolute().parent
        if not parent.is_dir():
            raise UsageError(f"{target}: there is no folder {target.parent} to write to.")
        place = target if target.is_dir() else parent
        if not os.access(place, os.W_OK | os.X_OK):
            raise UsageError(f"{target}: nothing can be written in the folder {place}.")
    for number, file in enumerate(written):
        if file.is_dir():
            raise UsageError(
                f"{file} is a folder. Name a file, such as {file / 'grades'}{endings[file]}."
            )
        if file.absolute() in [other.absolute() for other in written[:number]]:
            raise UsageError(f"{file} is named twice. Give each option a file of its own.")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Name a folder for the pages.")


def require_clone() -> None:
    """Raise UsageError where the kit is installed, not cloned: its own files are changed here."""
    if not project.IS_CLONE:
        raise UsageError(
            "This command changes the kit's own files, so it needs a clone of its repository. In "
            "the clone: pip install -c constraints.txt -e '.[dev]'"
        )


def require_forks() -> None:
    """Raise UsageError where processes cannot fork, which grading needs."""
    if not hasattr(os, "fork") or not lockdown.resource:
        raise UsageError(
            "The hidden checks run on Linux, and your own code on macOS too. On Windows use WSL: "
            "https://learn.microsoft.com/windows/wsl/install. The public tests run here: "
            "pytest exercises/"
        )


def require_jail() -> None:
    """Raise UsageError where the jail cannot be made, with what is missing and what fixes it."""
    if reason := jail.why_unavailable():
        raise UsageError(reason)


@contextmanager
def with_nbgrader() -> Iterator[None]:
    """In the block nbgrader is imported; where it is not installed, UsageError says what to do."""
    # Imported where it is used: nbgrader takes a second, and no other command needs it. A third of
    # that it spends on a parser of internationalised addresses, which nothing of it asks for and
    # which its library for JSON does without where it is missing.
    unused = "rfc3987_syntax"
    skipped = sys.modules.setdefault(unused, None) is None  # type: ignore[arg-type]
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed. In the kit's folder: "
            "pip install -c constraints.txt -e '.[grader]'"
        ) from None
    finally:
        if skipped:
            del sys.modules[unused]
