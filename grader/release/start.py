"""Gives somebody a folder to work in: stubs, public tests, and what the board counts."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from grader import curriculum
from grader.curriculum import assignment, stubs
from grader.curriculum.project import EXERCISES
from grader.release.edition import LESSONS, EditionError, copy_pictures, filled, unwritten
from grader.release.writing import new_folder


def make(folder: Path, exercises: Sequence[str]) -> None:
    """Write a folder with the stubs of all exercises, of which the board counts these.

    Raises `EditionError` if the folder holds something already or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise EditionError(f"{folder} is there already. Name a new folder, or empty that one.")
    try:
        with new_folder(folder):
            _write(folder, exercises)
    except OSError as error:
        raise EditionError(unwritten(folder, error)) from None


def _write(folder: Path, exercises: Sequence[str]) -> None:
    work = folder / "exercises"
    work.mkdir(parents=True)
    tests = [f"test_{name}.py" for name in curriculum.NAMES]
    for name in ("__init__.py", "conftest.py", *LESSONS, *tests):
        shutil.copyfile(EXERCISES / name, work / name)
    copy_pictures(work)
    for name in curriculum.NAMES:
        (work / f"{name}.py").write_text(stubs.as_handed_out(name), encoding="utf-8")
    (work / assignment.FILE).write_text(assignment.text(tuple(exercises)), encoding="utf-8")
    text = (resources.files("grader.release") / "templates" / "start.md").read_text("utf-8")
    words = {"first": exercises[0], "asked": ", ".join(exercises)}
    (folder / "README.md").write_text(filled(text, words), encoding="utf-8")
