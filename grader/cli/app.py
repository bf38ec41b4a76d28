"""What the commands share: the application they hang from, what they refuse, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import typer

from grader import curriculum
from grader.sandbox import jail, lockdown

USAGE, NOT_GRADED = 2, 3
STUDENTS, INSTRUCTORS, AUTHORS = "For students", "For instructors", "For who changes the kit"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Write a Transformer by hand, and grade the exercises of those who do.",
)


class UsageError(Exception):
    """What was asked for cannot be done. The message says why and what to do."""


class Isolation(StrEnum):
    """How far a student's code is kept apart from the machine."""

    JAIL = "jail"
    PROCESS = "process"


def exercises_named(names: list[str] | None) -> tuple[str, ...]:
    """The exercises of these names, in the curriculum's order; the core eight where none is named.

    Raises UsageError for a name that no exercise has.
    """
    if not names:
        return tuple(exercise.name for exercise in curriculum.EXERCISES if exercise.core)
    unknown = [name for name in names if name not in curriculum.NAMES]
    if unknown:
        there_are = ", ".join(curriculum.NAMES)
        raise UsageError(f"There is no exercise {unknown[0]!r}. There are: {there_are}.")
    return tuple(name for name in curriculum.NAMES if name in names)


def require_forks() -> None:
    """Raises UsageError where processes cannot fork, which grading needs."""
    if not hasattr(os, "fork") or not lockdown.resource:
        raise UsageError(
            "The hidden checks run on Linux, and your own code on macOS too. On Windows use WSL: "
            "https://learn.microsoft.com/windows/wsl/install. The public tests run here: "
            "pytest exercises/"
        )


def require_jail() -> None:
    """Raises UsageError where the jail cannot be made, with what is missing and what mends it."""
    problems = jail.missing()
    if problems:
        found = "\n".join(f"  {problem.what} {problem.mend}" for problem in problems)
        raise UsageError(
            f"The jail for untrusted code cannot be made here.\n{found}\n"
            "For your own code on your own machine there is --isolation process. It is not for "
            "grades that count: the code can then read the solutions and write the report."
        )


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
            f"{error.name} is not installed. In the kit's folder: pip install -e '.[grader]'"
        ) from None
    finally:
        if skipped:
            del sys.modules[unused]
