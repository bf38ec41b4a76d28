"""Makes the student's edition: what somebody needs to work, and nothing that gives an answer away.

It is a boundary in the package: whole rooms, and the commands of students. `ROOMS` lists them, and
a test holds that none of them needs anything beyond.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from grader import curriculum
from grader.capstone import tasks
from grader.curriculum import assignment, handed_out, stubs
from grader.curriculum.project import EXERCISES, PACKAGE, ROOT
from grader.grading.diagnosis import hint_data
from grader.recognition import prepared
from grader.release.writing import new_folder, pack
from grader.submission.left_out import PROVIDED

# What students get of the kit: these rooms, and these commands. The other rooms hold hidden checks
# and what instructors do.
ROOMS = (
    "board",
    "capstone",
    "curriculum",
    "edits",
    "feedback",
    "pictures",
    "recognition",
    "remote",
    "report",
    "sandbox",
    "submission",
    "watch",
)
# What students read besides the exercises.
LESSONS = ("README.md", "zero.md", "example.md", "glossary.md")
COMMANDS = ("__init__", "app", "capstone", "reset", "show", "watch")
# Edited answers, the only module that imports the solutions, and the program that serves a judge;
# and the data on mistakes, of which only that of assigned exercises is copied.
WITHHELD = (
    "curriculum/mistakes",
    "curriculum/reference.py",
    "curriculum/given",
    "recognition/known_mistakes",
    "remote/absences.py",
    "remote/child.py",
    "remote/standins.py",
    "remote/work.py",
)
# What a student's README offers, by the task of the capstone.
TRAININGS = {
    "dates": "to train your own Transformer to translate dates",
    "sort": "to train your own attention to sort digits",
    "sums": "to train your own language model to add",
    "prose": "to train your own language model to write",
}
# A lesson's link to an exercise.
_LINK = re.compile(r"\[(\w+)\]\(\1\.py\)")
_HEAD = f"{PROVIDED}# You may read it, and `pytest exercises/` uses it.\n\n"


class EditionError(Exception):
    """The edition cannot be made. The message says why and what to do."""


@dataclass(frozen=True)
class Edition:
    """The result: the folder, the assigned exercises, and those that are provided solved."""

    folder: Path
    exercises: tuple[str, ...]
    solved: tuple[str, ...]


def make(folder: Path, exercises: Sequence[str]) -> Edition:
    """Write the student's edition of these exercises into a folder that is new or empty.

    Raises `EditionError`.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise EditionError(f"{folder} is there already. Name a new folder, or empty that one.")
    assigned = tuple(name for name in curriculum.NAMES if name in exercises)
    solved = tuple(name for name in _needed(assigned) if name not in assigned)
    try:
        with new_folder(folder):
            _write_package(folder, assigned, solved)
            _write_exercises(folder / "exercises", assigned, solved)
            _write_project(folder, assigned, solved)
    except OSError as error:
        raise EditionError(unwritten(folder, error)) from None
    return Edition(folder, assigned, solved)


def unwritten(place: Path, error: OSError) -> str:
    """Say that a folder or file cannot be written, and why."""
    return f"{place} cannot be written: {error.strerror}. Nothing of it is left there."


def zipped(edition: Edition) -> Path:
    """Return the edition as one file to hand out, beside its folder. Raises `EditionError`."""
    folder = edition.folder.resolve()
    path = folder.with_name(f"{folder.name}.zip")
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    try:
        pack(path, {}, ((file, str(file.relative_to(folder.parent))) for file in files))
    except OSError as error:
        raise EditionError(unwritten(path, error)) from None
    return path


def _needed(assigned: Sequence[str]) -> list[str]:
    """Return all that the exercises build on; with a whole model, what trains it, too."""
    needed = {need for name in assigned for need in curriculum.closure(name)}
    if "transformer" in assigned:
        needed |= set(tasks.find("dates").entries)
    if "language_model" in assigned:
        needed |= set(tasks.find("sums").entries)
        if "sampling" in assigned:
            needed |= set(tasks.find("prose").entries)
    return [name for name in curriculum.NAMES if name in needed]


# The package


def modules() -> list[str]:
    """Return the kit's files that go into the edition, relative to the package's folder."""
    whole = (path for room in ROOMS for path in (PACKAGE / room).rglob("*"))
    chosen = (
        "__init__.py",
        "__main__.py",
        "pytest_plugin.py",
        *(f"cli/{name}.py" for name in COMMANDS),
    )
    names = {path.relative_to(PACKAGE).as_posix() for path in whole if path.is_file()}
    return sorted(name for name in {*names, *chosen} if not _is_withheld(name))


def _is_withheld(name: str) -> bool:
    path = Path(name)
    return path.suffix == ".pyc" or any(path.is_relative_to(file) for file in WITHHELD)


def _write_package(folder: Path, assigned: Sequence[str], solved: Sequence[str]) -> None:
    package = folder / PACKAGE.name
    for file in modules():
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / file, package / file)
    originals = package / stubs.HANDED_OUT.relative_to(PACKAGE)
    originals.mkdir(parents=True)
    for name in assigned:
        (originals / f"{name}.txt").write_text(stubs.as_handed_out(name), encoding="utf-8")
        tests = stubs.tests_as_handed_out(name)
        (originals / f"test_{name}.txt").write_text(tests, encoding="utf-8")
    for name in solved:
        (originals / f"{name}.txt").write_text(_solved(name), encoding="utf-8")
    known = package / prepared.FOLDER.relative_to(PACKAGE)
    known.mkdir()
    for name in assigned:
        (known / f"{name}.hints").write_bytes(hint_data.content(name))


# The exercises


def _write_exercises(folder: Path, assigned: Sequence[str], solved: Sequence[str]) -> None:
    folder.mkdir()
    kit = EXERCISES
    tests = [f"test_{name}.py" for name in assigned]
    for name in ("__init__.py", "conftest.py", *tests):
        shutil.copyfile(kit / name, folder / name)
    for name in LESSONS:
        text = (kit / name).read_text(encoding="utf-8")
        (folder / name).write_text(_linked(text, {*assigned, *solved}), encoding="utf-8")
    copy_pictures(folder)
    for name in assigned:
        (folder / f"{name}.py").write_text(stubs.as_handed_out(name), encoding="utf-8")
    for name in solved:
        (folder / f"{name}.py").write_text(_solved(name), encoding="utf-8")
    (folder / assignment.FILE).write_text(assignment.text(tuple(assigned)), encoding="utf-8")


def copy_pictures(folder: Path) -> None:
    """Copy the pictures that the exercises' texts show. Raises `OSError`."""
    (folder / stubs.PICTURES).mkdir()
    for picture in (EXERCISES / stubs.PICTURES).iterdir():
        shutil.copyfile(picture, folder / stubs.PICTURES / picture.name)


def _linked(text: str, included: Set[str]) -> str:
    """Return a lesson in which exercises that are not included are named without a link."""
    return _LINK.sub(lambda link: link[0] if link[1] in included else link[1], text)


def _solved(name: str) -> str:
    """Return an exercise that is not assigned, as a module that reveals nothing of the others."""
    source = handed_out.source(name) or stubs.reference_source(name)
    lines = [line for line in source.split("\n") if not stubs.is_mark(line)]
    return _HEAD + "\n".join(lines)


# The files around them


def _trainings(assigned: Sequence[str], solved: Sequence[str]) -> str:
    """Return the rows on the capstone: the tasks of which all is included, and some assigned."""
    rows = []
    for name, wanted in TRAININGS.items():
        parts = set(tasks.find(name).entries)
        if parts <= {*assigned, *solved} and parts & {*assigned}:
            option = "" if name == tasks.DEFAULT else f" --task {name}"
            rows.append(f"| {wanted} | `grader capstone{option}` |\n")
    return "".join(rows)


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _write_project(folder: Path, assigned: Sequence[str], solved: Sequence[str]) -> None:
    for name in ("LICENSE", "constraints.txt"):
        shutil.copyfile(ROOT / name, folder / name)
    templates = resources.files("grader.release") / "templates"
    total = sum(curriculum.find(name).points for name in assigned)
    rows = "\n".join(f"| {name} | {curriculum.find(name).points} |" for name in assigned)
    words = {
        "rows": rows,
        "total": str(total),
        "first": assigned[0],
        "trainings": _trainings(assigned, solved),
        "solved": ", ".join(f"`{name}`" for name in solved) or "nothing",
        "dependencies": "".join(
            f'    "{dependency}",\n' for dependency in _project()["project"]["dependencies"]
        ),
    }
    files = {
        "README.md": "edition.md",
        "pyproject.toml": "edition.toml",
        ".gitignore": "gitignore",
    }
    for name, source in files.items():
        text = (templates / source).read_text(encoding="utf-8")
        (folder / name).write_text(filled(text, words), encoding="utf-8")


def filled(text: str, words: dict[str, str]) -> str:
    """Return a template with its {{words}} filled in."""
    for name, word in words.items():
        text = text.replace("{{" + name + "}}", word)
    return text
