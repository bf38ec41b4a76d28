"""An instructor's choices for a folder, read from `assignment.toml` in it.

    exercises = ["masks", "attention"]
    hints = "question"
    until = 2026-12-01

Without that file the core eight are assigned, which make 100 points, and all hints are given.
`hint_limit` explains `hints` and `until`, which may both be missing.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from grader.curriculum.exercises import EXERCISES, NAMES, CurriculumError
from grader.curriculum.hint_limit import HintLimit, hint_limit

FILE = "assignment.toml"


def assigned(folder: Path) -> tuple[str, ...]:
    """Return the assigned exercises, in the curriculum's order.

    Raises `CurriculumError` for a file that cannot be read, names no exercise or an unknown one.
    """
    path = folder / FILE
    content = _content(path)
    if content is None:
        return tuple(exercise.name for exercise in EXERCISES if exercise.core)
    names = content.get("exercises")
    if not isinstance(names, list) or not names:
        raise CurriculumError(f'{path}: write exercises = ["masks"], with the names you mean.')
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        there_are = ", ".join(NAMES)
        raise CurriculumError(f"{path}: no exercise {unknown[0]!r}. There are: {there_are}.")
    return tuple(name for name in NAMES if name in names)


def limit_of_hints(folder: Path) -> HintLimit:
    """Return how far hints go in this folder. Raises `CurriculumError`."""
    path = folder / FILE
    content = _content(path) or {}
    try:
        return hint_limit(content.get("hints"), content.get("until"))
    except CurriculumError as error:
        raise CurriculumError(f"{path}: {error}.") from None


def text(exercises: tuple[str, ...]) -> str:
    """Return the content of the file for these exercises."""
    listed = "".join(f'    "{name}",\n' for name in exercises)
    return f"# The assigned exercises: the board counts these.\nexercises = [\n{listed}]\n"


def _content(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CurriculumError(f"{path} cannot be read: {error}") from None
