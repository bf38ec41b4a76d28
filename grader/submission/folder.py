"""Reads what a student handed in, a folder of `.py` files or a notebook: {exercise: source}."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader import curriculum
from grader.submission import cells, plain_file
from grader.submission.cells import Cell
from grader.submission.notebook import Layout, layout

MAX_BYTES = 1 << 20


class SubmissionError(Exception):
    """A path that holds no submission."""


@dataclass(frozen=True)
class Submission:
    """One student's work. `problems` says, by exercise, why a file could not be read.

    Where it is a notebook, `cells` are its cells; a source then tells what there is of an exercise,
    and the cells are what is run. `passed_over` are files that are not graded, since others are.
    """

    name: str
    sources: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    passed_over: tuple[str, ...] = ()

    @cached_property
    def layout(self) -> Layout | None:
        """Where in the notebook what stands, if it is one."""
        return layout(self.cells) if self.cells else None

    @property
    def labels(self) -> dict[str, str]:
        """How a message names the files that a traceback shows, where not by their own names."""
        return self.layout.labels() if self.layout else {}

    @cached_property
    def digest(self) -> str:
        """The same for two submissions that hold the same files."""
        hashed = hashlib.sha256()
        cells = [(one.kind, one.grade_id, one.source) for one in self.cells]
        for part in (sorted(self.sources.items()), sorted(self.problems.items()), cells):
            hashed.update(len(part).to_bytes(8))
            for item in part:
                for text in item:
                    data = text.encode("utf-8", "surrogatepass")
                    hashed.update(len(data).to_bytes(8) + data)
        return hashed.hexdigest()


def find(path: Path) -> list[Submission]:
    """The submissions at `path`: one, a folder of them, one exercise's file or a notebook.

    In a class, folders and notebooks lie side by side, and each is a submission.

    Raises `SubmissionError` where there is nothing to grade.
    """
    if not path.exists():
        raise SubmissionError(f"{path}: no such file or folder.")
    if path.is_file():
        if path.suffix == ".ipynb":
            return [from_notebook(shown(path.stem), path)]
        if path.suffix != ".py" or path.stem not in curriculum.NAMES:
            names = ", ".join(f"{name}.py" for name in curriculum.NAMES)
            raise SubmissionError(f"{path}: not a notebook or the file of an exercise ({names}).")
        return [_read(path.stem, {path.stem: path})]
    folders, links = (sorted(filter(some, path.iterdir())) for some in (_is_student, _is_link))
    notebooks = _notebooks(path)
    alone = len(notebooks) == 1 and not any(map(_holds_work, folders))
    if alone or _files(path, path / "exercises"):
        return [_in_folder(shown(path.resolve().name), path)]
    if not folders and not notebooks and not links:
        raise SubmissionError(
            f"{path}: no submission here. A submission is a notebook, or a folder with files such "
            "as attention.py; give such a one, or a folder of them."
        )
    return [
        *(_in_folder(shown(folder.name), folder) for folder in folders),
        # It may lead to another's work.
        *(_refused(shown(link.name), "The folder is a link; put a copy here.") for link in links),
        *(from_notebook(shown(file.stem), file) for file in notebooks),
    ]


def shown(name: str) -> str:
    """A name of somebody's as it can be printed and stored, another one for every other name.

    What is no printable character, what is no UTF-8 and the backslash are written as escapes.
    """
    return "".join(_escaped(character) for character in name)


def _escaped(character: str) -> str:
    if character.isprintable() and character != "\\":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _refused(name: str, problem: str) -> Submission:
    return Submission(name, problems=dict.fromkeys(curriculum.NAMES, problem))


def from_notebook(name: str, path: Path) -> Submission:
    """The submission in a notebook. One that cannot be read is a problem of every exercise."""
    try:
        read = cells.read(path)
    except cells.NotebookError as error:
        return _refused(name, f"{shown(path.name)} could not be read: {error}.")
    code = tuple(one if one.kind == "code" else Cell(one.kind, "", one.grade_id) for one in read)
    return Submission(name, layout(code).sources(), cells=code)


def _in_folder(name: str, folder: Path) -> Submission:
    """A student's work: the files of exercises, or else the one notebook."""
    try:
        files = _handed_in(folder)
        by_place = [_notebooks(place) for place in (folder, *_only_folder(folder))]
    except OSError as error:
        return _refused(
            name,
            f"The folder could not be read: {error.strerror}. Let it be read (chmod -R u+rX), and "
            "grade it again.",
        )
    there = [file for place in by_place for file in place]
    graded = [] if files else next(filter(None, by_place), [])
    if len(graded) > 1:
        called = " and ".join(shown(file.name) for file in graded)
        return _refused(name, f"There are {len(graded)} notebooks, {called}: hand in one.")
    found = from_notebook(name, graded[0]) if graded else _read(name, files)
    others = [shown(str(file.relative_to(folder))) for file in there if file not in graded]
    return replace(found, passed_over=tuple(others))


def _holds_work(folder: Path) -> bool:
    try:
        return bool(_handed_in(folder)) or any(map(_notebooks, (folder, *_only_folder(folder))))
    except OSError:  # what cannot be looked at may hold some, and is to be told of
        return True


def _only_folder(folder: Path) -> list[Path]:
    """The folder in a student's folder, if there is just one: an archive is often unpacked so."""
    inner = [entry for entry in folder.iterdir() if _is_student(entry)]
    return inner if len(inner) == 1 else []


def _notebooks(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.glob("*.ipynb") if not entry.name.startswith("."))


def _is_student(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink() and not entry.name.startswith((".", "__"))


def _is_link(entry: Path) -> bool:
    return entry.is_dir() and entry.is_symlink() and not entry.name.startswith((".", "__"))


def _handed_in(folder: Path) -> dict[str, Path]:
    """The files in a student's folder, in its `exercises/`, or in the one folder in it."""
    return _files(folder, folder / "exercises", *_only_folder(folder))


def _files(*places: Path) -> dict[str, Path]:
    """The exercises' files in the first of these folders that has any."""
    for place in places:
        found = {name: place / f"{name}.py" for name in curriculum.NAMES}
        present = {name: file for name, file in found.items() if file.is_symlink() or file.exists()}
        if present:
            return present
    return {}


def _read(name: str, files: dict[str, Path]) -> Submission:
    submission = Submission(name)
    for exercise, file in files.items():
        try:
            submission.sources[exercise] = _source(file)
        except OSError as error:
            submission.problems[exercise] = f"{file.name} could not be read: {error.strerror}."
        except ValueError as error:
            submission.problems[exercise] = f"{file.name} could not be read: {error}."
    return submission


def _source(file: Path) -> str:
    if file.parent.name == "exercises" and file.parent.is_symlink():
        raise ValueError(_LINKED_FOLDER)
    data = plain_file.read(file, MAX_BYTES)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MB")
    if not data.strip():
        raise ValueError("it is empty")
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text. Save it as UTF-8 and hand it in again") from None
    declared = _DECLARATION.match(source)
    if declared and not _READ_ALIKE.fullmatch(declared[1].lower().replace("_", "-")):
        raise ValueError(
            f"its first lines say that it is not UTF-8 but {declared[1][:40]}. Delete that line, "
            "save the file as UTF-8 and hand it in again"
        )
    return source


# PEP 263, "Defining Python Source Code Encodings". No codec of a student's choice is ever used:
# some take any amount of time. What is UTF-8 reads the same under those that are named here, or is
# what its author did not mean.
_DECLARATION = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_READ_ALIKE = re.compile(r"utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-?8859-\d+|(cp|windows-)125\d")
_LINKED_FOLDER = "the folder is a link; hand in the files themselves"
