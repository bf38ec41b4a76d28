"""Reads what a student handed in, a folder of `.py` files or a notebook: {exercise: source}."""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader import curriculum
from grader.submission import cells, pieces

MAX_BYTES = 1 << 20


class SubmissionError(Exception):
    """A path that holds no submission."""


@dataclass(frozen=True)
class Submission:
    """One student's work. `problems` says, by exercise, why a file could not be read.

    `places` says of a notebook's code where each line of a source stands in it.
    """

    name: str
    sources: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """The same for two submissions that hold the same files."""
        hashed = hashlib.sha256()
        for part in (self.sources, self.problems):
            for name, text in sorted(part.items()):
                hashed.update(f"{name}\0{text}\0".encode("utf-8", "surrogatepass"))
            hashed.update(b"\1")
        return hashed.hexdigest()


def find(path: Path) -> list[Submission]:
    """The submissions at `path`: one, a folder of them, one exercise's file or a notebook.

    Raises `SubmissionError` where there is nothing to grade.
    """
    if not path.exists():
        raise SubmissionError(f"{path}: no such file or folder.")
    if path.is_file():
        if path.suffix == ".ipynb":
            return [from_notebook(path.stem, path)]
        if path.suffix != ".py" or path.stem not in curriculum.NAMES:
            names = ", ".join(f"{name}.py" for name in curriculum.NAMES)
            raise SubmissionError(f"{path}: not a notebook or the file of an exercise ({names}).")
        return [_read(path.stem, {path.stem: path})]
    if _files(path, path / "exercises") or len(_notebooks(path)) == 1:
        return [_in_folder(path.resolve().name, path)]
    folders = sorted(entry for entry in path.iterdir() if _is_student(entry))
    notebooks = _notebooks(path) if not folders else []
    if not folders and not notebooks:
        raise SubmissionError(
            f"{path}: no submission here. A submission is a notebook, or a folder with files such "
            "as attention.py; give such a one, or a folder of them."
        )
    return [
        *(_in_folder(folder.name, folder) for folder in folders),
        *(from_notebook(file.stem, file) for file in notebooks),
    ]


def from_notebook(name: str, path: Path) -> Submission:
    """The submission in a notebook. One that cannot be read is a problem of every exercise."""
    try:
        gathered = pieces.gather(cells.read(path))
    except cells.NotebookError as error:
        problem = f"{path.name} could not be read: {error}."
        return Submission(name, problems=dict.fromkeys(curriculum.NAMES, problem))
    too_long = [one for one, source in gathered.sources.items() if len(source) > MAX_BYTES]
    for one in too_long:
        del gathered.sources[one]
    problems = dict.fromkeys(too_long, f"Its code is longer than {MAX_BYTES >> 20} MB.")
    return Submission(name, gathered.sources, problems, gathered.places)


def _in_folder(name: str, folder: Path) -> Submission:
    files = _handed_in(folder)
    notebooks = [] if files else list(_notebooks_of_a_student(folder))
    return from_notebook(name, notebooks[0]) if len(notebooks) == 1 else _read(name, files)


def _notebooks_of_a_student(folder: Path) -> Iterator[Path]:
    inner = [entry for entry in folder.iterdir() if _is_student(entry)]
    for place in (folder, *(inner if len(inner) == 1 else [])):
        yield from _notebooks(place)


def _notebooks(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.glob("*.ipynb") if not entry.name.startswith("."))


def _is_student(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink() and not entry.name.startswith((".", "__"))


def _handed_in(folder: Path) -> dict[str, Path]:
    """The files in a student's folder, in its `exercises/`, or in the one folder in it."""
    inner = [entry for entry in folder.iterdir() if _is_student(entry)]
    return _files(folder, folder / "exercises", *(inner if len(inner) == 1 else []))


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
        except (OSError, ValueError) as error:
            submission.problems[exercise] = f"{file.name} could not be read: {error}"
    return submission


def _source(file: Path) -> str:
    if file.is_symlink():
        raise ValueError("it is a link; hand in the file itself.")
    if not file.is_file():
        raise ValueError("it is not a plain file.")
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MB.")
    data = file.read_bytes()
    if not data.strip():
        raise ValueError("it is empty.")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        raise ValueError("it is not UTF-8 text. Save it as UTF-8 and hand it in again.") from None
