"""What a Python file under another name than an exercise's seems to be. None is run or parsed."""

from __future__ import annotations

import re
from pathlib import Path

from grader import curriculum
from grader.submission.notebook import binds

_NOISE = {
    *("v", "version", "final", "copy", "new", "old", "my", "fixed", "done", "last", "real"),
    *("solution", "answer", "exercise", "draft"),
}
# Folders that tools make, with copies of work at most.
BY_PRODUCTS = {
    *("__MACOSX", "__pycache__", ".ipynb_checkpoints", ".git", ".github", ".idea", ".vscode"),
    *(".venv", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis"),
}
# What is named after an exercise and is never its answer: pictures, weights, tables, notes.
_NEVER_CODE = {
    *("svg", "png", "jpg", "jpeg", "gif", "pyc", "pyi"),
    *("pt", "pth", "npy", "npz", "json", "csv", "toml", "log", "md", "html"),
}
_WORDS = re.compile(r"[a-z]+")


def namesake(stem: str) -> str | None:
    """Return the exercise meant by a name: `Attention`, `masks (1)`, `multi_head_final_v2`."""
    words = [word for word in _WORDS.findall(stem.lower()) if word not in _NOISE]
    joined = "".join(words)
    return next((name for name in curriculum.NAMES if name.replace("_", "") == joined), None)


def of_copy(name: str) -> str | None:
    """Return the exercise whose answer a file that is not read may hold, by its name.

    `masks.py.1` is what `grader reset` keeps of masks; `masks.py.bak`, `masks.py~` and `masks.txt`
    come from editors.
    """
    stem, _, ending = name.lower().rstrip("~").partition(".")
    return None if ending in _NEVER_CODE else namesake(stem)


def defined(source: str) -> tuple[str, ...]:
    """Return the exercises of which a source seems to define every name."""
    bound = binds(source)
    return tuple(
        exercise.name for exercise in curriculum.EXERCISES if bound.issuperset(exercise.entries)
    )


def is_about_work(file: Path, source: str) -> bool:
    """Return whether a Python file seems to be an answer, under whatever name."""
    if file.name.startswith("test_"):
        return False
    return namesake(file.stem) is not None or bool(binds(source))
