"""Reads what students submitted: folders of `.py` files, notebooks, archives and classes of them.

What is not graded is never left out in silence: it is passed over, with the reason.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from grader import curriculum
from grader.feedback.results import PassedOver
from grader.submission import archive, cells, downloads, names, plain_file
from grader.submission.files import (
    DOCUMENTS,
    OTHER_ARCHIVE,
    exercise_files_in,
    hidden_work,
    listed,
    looks_like_work,
    shown,
    start_of_name,
)
from grader.submission.student import (
    Submission,
    SubmissionError,
    from_archive,
    from_folder,
    from_notebook,
    read_files,
    refused,
    temporary,
    unpacked,
)

_NO_FILE = "not a file that the student submitted"


class AmbiguousError(SubmissionError):
    """A folder that can be read as a class and as one submission. The message says both."""


class Reading(StrEnum):
    """How a folder is read. `AUTO` decides by what it holds."""

    AUTO = "auto"
    ONE = "one"
    CLASS = "class"


@dataclass(frozen=True)
class Contents:
    """The submissions at a path, and skipped files that belong to none of them."""

    submissions: tuple[Submission, ...]
    passed_over: tuple[PassedOver, ...] = ()


def find(path: Path, reading: Reading = Reading.AUTO) -> list[Submission]:
    """Return the submissions at `path`: see `contents`."""
    return list(contents(path, reading).submissions)


def contents(path: Path, reading: Reading = Reading.AUTO, guess_names: bool = False) -> Contents:
    """Return what is at `path`: a submission, a folder or an archive of them, a file or a notebook.

    In a class, folders, notebooks and archives lie side by side, and each is a submission.
    `guess_names` takes a file under another name for the exercise whose names it alone defines.

    Raises `SubmissionError` where there is nothing to grade, and `AmbiguousError` where a folder
    can be read both as a class and as one submission.
    """
    if not path.exists():
        raise SubmissionError(f"{path}: no such file or folder.")
    if path.is_dir():
        return _in_place(shown(path.resolve().name), path, path, reading, guess_names)
    if path.suffix == ".ipynb":
        return Contents((from_notebook(shown(path.stem), path),))
    if archive.is_archive(path.name):
        try:
            with unpacked(path, archive.CLASS) as folder:
                return _in_place(_stem(path), path, _root(folder), reading, guess_names)
        except archive.ArchiveError as error:
            raise SubmissionError(f"{path} could not be read: {error}.") from None
    if path.suffix != ".py" or path.stem not in curriculum.NAMES:
        files = ", ".join(f"{name}.py" for name in curriculum.NAMES)
        raise SubmissionError(
            f"{path}: not a notebook, an archive ({', '.join(archive.SUFFIXES)}) or the file of "
            f"an exercise ({files})."
        )
    return Contents((read_files(path.stem, {path.stem: path}),))


def _in_place(name: str, path: Path, folder: Path, reading: Reading, guess_names: bool) -> Contents:
    """Return what a folder holds. `path` is what the messages call it."""
    entries = _Entries(folder)
    if reading is Reading.AUTO:
        reading = _reading(path, folder, entries)
    if reading is Reading.ONE:
        return Contents((from_folder(name, folder, guess_names),))
    return _class(entries, guess_names)


class _Entries:
    """What lies in a folder that may be a class, by kind."""

    def __init__(self, folder: Path) -> None:
        self.parts: dict[str, list[tuple[downloads.Part, Path]]] = defaultdict(list)
        self.folders: list[Path] = []
        self.links: list[Path] = []
        self.notebooks: list[Path] = []
        self.archives: list[Path] = []
        self.others: list[Path] = []
        self.hidden: list[Path] = []
        entries = sorted(folder.iterdir())
        parts = downloads.parts({entry.name: entry.is_dir() for entry in entries})
        for entry in entries:
            part = parts.get(entry.name)
            if entry.name.startswith((".", "__")):
                self.hidden.append(entry)
            elif part is not None:
                self.parts[part.student].append((part, entry))
            elif entry.is_symlink() and not entry.is_file():  # it may lead nowhere
                self.links.append(entry)
            elif entry.is_dir():
                self.folders.append(entry)
            elif entry.suffix == ".ipynb":
                self.notebooks.append(entry)
            elif archive.is_archive(entry.name):
                self.archives.append(entry)
            else:
                self.others.append(entry)

    @property
    def count(self) -> int:
        """How many submissions it is as a class."""
        students = (*self.folders, *self.links, *self.notebooks, *self.archives)
        return len(students) + len(self.parts)


def _reading(path: Path, folder: Path, entries: _Entries) -> Reading:
    """Return how a folder is to be read. Raises `AmbiguousError` where both ways make sense."""
    working = [folder for folder in entries.folders if looks_like_work(folder)]
    students = [entry for entry in working if entry.name != "exercises"]
    candidates = [*students, *entries.archives, *(entry for _, (entry, *_) in _parts(entries))]
    if len(entries.notebooks) > 1:
        candidates += entries.notebooks
    answers = sorted(exercise_files_in(folder, folder / "exercises").values())
    if answers and candidates:
        shown_answers = listed(str(answer.relative_to(folder)) for answer in answers)
        raise AmbiguousError(
            f"{path} can be read in two ways: as one student's submission "
            f"({shown_answers}), and as a class ({listed(entry.name for entry in candidates)})."
        )
    loose = [entry for entry in entries.others if looks_like_work(entry)]
    alone = not (working or entries.archives or entries.parts)
    if answers or (alone and len(entries.notebooks) == 1):
        return Reading.ONE
    if alone and loose and not (entries.notebooks or entries.links):
        return Reading.ONE
    if not entries.count:
        raise SubmissionError(
            f"{path}: no submission here. A submission is a notebook, an archive, or a folder "
            "with files such as attention.py; give such a one, or a folder of them."
        )
    return Reading.CLASS


def _parts(entries: _Entries) -> list[tuple[str, list[Path]]]:
    return [(name, [entry for _, entry in parts]) for name, parts in entries.parts.items()]


def _class(entries: _Entries, guess_names: bool) -> Contents:
    submissions = [
        *(from_folder(shown(folder.name), folder, guess_names) for folder in entries.folders),
        # It may lead to another's work.
        *(refused(shown(link.name), "The folder is a link; put a copy here.")
          for link in entries.links),
        *(from_notebook(shown(notebook.stem), notebook) for notebook in entries.notebooks),
        *(from_archive(_stem(file), file, guess_names) for file in entries.archives),
        *(_in_download(shown(name), parts, guess_names) for name, parts in entries.parts.items()),
    ]  # fmt: skip
    passed_over = [
        *map(_hidden, entries.hidden),
        *map(_stray, entries.others),
        *(PassedOver(work.name, work.unreadable, bool(work.problems))
          for work in submissions if work.unreadable),
    ]  # fmt: skip
    submissions.sort(key=lambda work: work.name)
    return Contents(tuple(submissions), tuple(filter(None, passed_over)))


def _hidden(entry: Path) -> PassedOver | None:
    if not entry.is_dir():
        hidden = hidden_work(entry)
        return PassedOver(shown(entry.name), *hidden) if hidden else None
    work = entry.name not in names.BY_PRODUCTS and not entry.is_symlink() and looks_like_work(entry)
    reason = f"a folder that begins with {start_of_name(entry)} is not taken for a student's"
    return PassedOver(f"{shown(entry.name)}/", reason, work)


def _stray(entry: Path) -> PassedOver:
    name = shown(entry.name)
    if archive.is_unreadable(entry.name):
        return PassedOver(name, OTHER_ARCHIVE, True)
    if entry.suffix == ".py":
        return PassedOver(name, "it lies beside the students' folders", looks_like_work(entry))
    work = entry.suffix.lower() in DOCUMENTS
    return PassedOver(name, "not a folder, a notebook or an archive", work)


def _root(folder: Path) -> Path:
    """Return the folder that an archive is of, where it holds it as a whole."""
    inside = list(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir() and not downloads.parts({inside[0].name: True}):
        return inside[0]
    return folder


def _stem(path: Path) -> str:
    suffix = next(ending for ending in archive.SUFFIXES if path.name.lower().endswith(ending))
    if path.name.lower().endswith(".tar.gz"):
        suffix = ".tar.gz"
    return shown(path.name[: -len(suffix)])


def _in_download(
    name: str, parts: list[tuple[downloads.Part, Path]], guess_names: bool
) -> Submission:
    """Return a student's work in a download of the assignment: a folder, or single files."""
    passed = []
    folders = [e for part, e in parts if part.kind == "file" and not part.file and e.is_dir()]
    if folders and not folders[0].is_symlink():
        submission = from_folder(name, folders[0], guess_names)
        passed = [
            PassedOver(shown(entry.name), _NO_FILE, not submission.sources)
            for _, entry in parts
            if entry != folders[0]
        ]
    else:
        with temporary() as folder:
            for part, entry in parts:
                problem = _copy(part, entry, folder)
                if problem:
                    passed.append(PassedOver(shown(entry.name), problem, True))
            submission = from_folder(name, folder, guess_names)
    return replace(submission, passed_over=(*submission.passed_over, *passed))


def _copy(part: downloads.Part, entry: Path, folder: Path) -> str:
    """Put a file into a folder under its own name. Returns why not, or ""."""
    target = folder / shown(part.file)
    if part.kind != "file" or not part.file:
        return _NO_FILE
    if target.exists():
        return "the student submitted another file of this name"
    try:
        data = plain_file.read(entry, cells.MAX_FILE)
    except ValueError as error:
        return str(error)
    except OSError as error:
        return f"it could not be opened ({error.strerror})"
    if len(data) > cells.MAX_FILE:
        return f"it is larger than {cells.MAX_FILE >> 20} MB"
    target.write_bytes(data)
    return ""
