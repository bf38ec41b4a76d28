"""Where the kit's files lie: beside the package in a clone, inside it where it is installed.

A wheel carries answers, public tests and the project's own files in `grader/shipped/`; the table
of packages in `pyproject.toml` puts them there. `python -m build` and `pip wheel .` need no more.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
_BESIDE = PACKAGE.parent
_IS_PROJECT = all(
    (_BESIDE / name).is_file() for name in ("pyproject.toml", "exercises/conftest.py")
)
ROOT = _BESIDE if _IS_PROJECT else PACKAGE / "shipped"
# A student's edition is a project, too, and has no answers.
IS_CLONE = _IS_PROJECT and (_BESIDE / "solutions").is_dir()
SOLUTIONS = ROOT / "solutions"
EXERCISES = ROOT / "exercises"
# What else of the project an edition or another machine needs to install it.
FILES = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE")
