"""Which exercises of a folder are asked for: `assignment.toml` in it says so.

    exercises = ["masks", "attention"]

Without that file it is the core eight, which make 100 points.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from grader.curriculum.exercises import EXERCISES, NAMES, CurriculumError

FILE = "assignment.toml"


def assigned(folder: Path) -> tuple[str, ...]:
    """The exercises that are asked for, in the curriculum's order.

    Raises `CurriculumError` for a file that names none, or one that there is not.
    """
    path = folder / FILE
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")).get("exercises")
    except FileNotFoundError:
        return tuple(one.name for one in EXERCISES if one.core)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CurriculumError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, list) or not found:
        raise CurriculumError(f'{path}: write exercises = ["masks"], with the names you mean.')
    unknown = [name for name in found if name not in NAMES]
    if unknown:
        there_are = ", ".join(NAMES)
        raise CurriculumError(f"{path}: no exercise {unknown[0]!r}. There are: {there_are}.")
    return tuple(name for name in NAMES if name in found)


def text(exercises: tuple[str, ...]) -> str:
    """The content of the file for these exercises."""
    listed = "".join(f'    "{name}",\n' for name in exercises)
    return f"# What is asked for: the board counts these.\nexercises = [\n{listed}]\n"
