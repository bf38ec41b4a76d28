"""Reads what students submitted: folders of `.py` files, notebooks, archives and classes of them.

What is not graded is never left out in silence: it is passed over, with the reason.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import Path

from grader import curriculum
from grader.feedback.results import PassedOver
from grader.submission import archive, cells, downloads, names, plain_file
from grader.submission.cells import Cell
from grader.submission.notebook import Layout, layout

MAX_BYTES = 1 << 20
MAX_LOOSE = 200  # files whose content is examined for misplaced work

_DOCUMENTS = {".pdf", ".doc", ".docx", ".odt", ".rtf", ".pages"}
_BESIDE = "other files there are graded"
_NO_FILE = "not a file that the student submitted"
_OTHER_ARCHIVE = "an archive of a kind that is not read; unpack it, or make it a zip"


class SubmissionError(Exception):
    """A path that holds no submission."""


class AmbiguousError(SubmissionError):
    """A folder that can be read as a class and as one submission. The message says both."""


@dataclass(frozen=True)
class Submission:
    """One student's work. `problems` says, by exercise, why a file could not be read.

    Where it is a notebook, `cells` are its cells; a source then tells what there is of an exercise,
    and the cells are what is run. `absent` says what lies there in place of an exercise's file;
    `guessed` names the file that was read as another.
    """

    name: str
    sources: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)
    guessed: dict[str, str] = field(default_factory=dict)

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
        parts: list[list[tuple[str, ...]]] = [
            sorted(texts.items())
            for texts in (self.sources, self.problems, self.absent, self.guessed)
        ]
        parts.append([(cell.kind, cell.grade_id, cell.source) for cell in self.cells])
        for part in parts:
            hashed.update(len(part).to_bytes(8))
            for item in part:
                for text in item:
                    data = text.encode("utf-8", "surrogatepass")
                    hashed.update(len(data).to_bytes(8) + data)
        return hashed.hexdigest()


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
            with _unpacked(path, archive.CLASS) as folder:
                return _in_place(_stem(path), path, _root(folder), reading, guess_names)
        except archive.ArchiveError as error:
            raise SubmissionError(f"{path} could not be read: {error}.") from None
    if path.suffix != ".py" or path.stem not in curriculum.NAMES:
        files = ", ".join(f"{name}.py" for name in curriculum.NAMES)
        raise SubmissionError(
            f"{path}: not a notebook, an archive ({', '.join(archive.SUFFIXES)}) or the file of "
            f"an exercise ({files})."
        )
    return Contents((_read(path.stem, {path.stem: path}),))


def _in_place(name: str, path: Path, folder: Path, reading: Reading, guess_names: bool) -> Contents:
    """Return what a folder holds. `path` is what the messages call it."""
    entries = _Entries(folder)
    if reading is Reading.AUTO:
        reading = _reading(path, folder, entries)
    if reading is Reading.ONE:
        return Contents((_in_folder(name, folder, guess_names),))
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
            elif entry.is_dir():
                (self.links if entry.is_symlink() else self.folders).append(entry)
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
    working = [folder for folder in entries.folders if _looks_like_work(folder)]
    students = [entry for entry in working if entry.name != "exercises"]
    candidates = [*students, *entries.archives, *(entry for _, (entry, *_) in _parts(entries))]
    if len(entries.notebooks) > 1:
        candidates += entries.notebooks
    answers = sorted(_files(folder, folder / "exercises").values())
    if answers and candidates:
        shown_answers = _listed(str(answer.relative_to(folder)) for answer in answers)
        raise AmbiguousError(
            f"{path} can be read in two ways: as one student's submission "
            f"({shown_answers}), and as a class ({_listed(entry.name for entry in candidates)})."
        )
    loose = [entry for entry in entries.others if _looks_like_work(entry)]
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


def _listed(names: Iterable[str]) -> str:
    """Return the first few of some names."""
    listed = [shown(name) for name in names]
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return ", ".join(listed[:4]) + more


def _class(entries: _Entries, guess_names: bool) -> Contents:
    submissions = [
        *(_in_folder(shown(folder.name), folder, guess_names) for folder in entries.folders),
        # It may lead to another's work.
        *(_refused(shown(link.name), "The folder is a link; put a copy here.")
          for link in entries.links),
        *(from_notebook(shown(notebook.stem), notebook) for notebook in entries.notebooks),
        *(_in_archive(_stem(file), file, guess_names) for file in entries.archives),
        *(_in_download(shown(name), parts, guess_names) for name, parts in entries.parts.items()),
    ]  # fmt: skip
    passed_over = [*map(_hidden, entries.hidden), *map(_stray, entries.others)]
    return Contents(tuple(submissions), tuple(filter(None, passed_over)))


def _hidden(entry: Path) -> PassedOver | None:
    if not entry.is_dir():
        work = _looks_like_work(entry) and not entry.name.startswith("._")
        reason = "its name begins as that of a hidden file"
        return PassedOver(shown(entry.name), reason, True) if work else None
    work = (
        entry.name not in names.BY_PRODUCTS and not entry.is_symlink() and _looks_like_work(entry)
    )
    reason = f"a folder that begins with {_start(entry)} is not taken for a student's"
    return PassedOver(f"{shown(entry.name)}/", reason, work)


def _start(entry: Path) -> str:
    return "__" if entry.name.startswith("__") else "."


def _stray(entry: Path) -> PassedOver:
    name = shown(entry.name)
    if archive.is_unreadable(entry.name):
        return PassedOver(name, _OTHER_ARCHIVE, True)
    if entry.suffix == ".py":
        return PassedOver(name, "it lies beside the students' folders", _looks_like_work(entry))
    work = entry.suffix.lower() in _DOCUMENTS
    return PassedOver(name, "not a folder, a notebook or an archive", work)


@contextmanager
def _unpacked(path: Path, limits: archive.Limits) -> Iterator[Path]:
    """A temporary folder with what an archive holds. Raises `ArchiveError`.

    Raises `SubmissionError` where the disk is full.
    """
    with _temporary() as folder:
        archive.unpack(path, folder, limits)
        yield folder


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="submission-") as path:
        try:
            yield Path(path)
        except OSError as error:
            raise SubmissionError(
                f"Submissions could not be unpacked into {tempfile.gettempdir()}: "
                f"{error.strerror}. Make room there, or name another folder in TMPDIR."
            ) from None


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


def _in_archive(name: str, path: Path, guess_names: bool) -> Submission:
    try:
        with _unpacked(path, archive.STUDENT) as folder:
            return _in_folder(name, folder, guess_names, in_archive=True)
    except archive.ArchiveError as error:
        return _refused(name, f"{shown(path.name)} could not be read: {error}.")


def _in_download(
    name: str, parts: list[tuple[downloads.Part, Path]], guess_names: bool
) -> Submission:
    """A student's work in a download of the whole assignment: a folder, or files of their own."""
    passed = []
    folders = [e for part, e in parts if part.kind == "file" and not part.file and e.is_dir()]
    if folders and not folders[0].is_symlink():
        submission = _in_folder(name, folders[0], guess_names)
        passed = [
            PassedOver(shown(entry.name), _NO_FILE, not submission.sources)
            for _, entry in parts
            if entry != folders[0]
        ]
    else:
        with _temporary() as folder:
            for part, entry in parts:
                problem = _copy(part, entry, folder)
                if problem:
                    passed.append(PassedOver(shown(entry.name), problem, True))
            submission = _in_folder(name, folder, guess_names)
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


def shown(name: str) -> str:
    """Return a student's name in a form that can be printed and stored, injectively.

    Unprintable characters, bytes that are not UTF-8 and backslashes become escapes.
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
    code = tuple(
        cell if cell.kind == "code" else Cell(cell.kind, "", cell.grade_id) for cell in read
    )
    return Submission(name, layout(code).sources(), cells=code)


def _in_folder(
    name: str, folder: Path, guess_names: bool = False, in_archive: bool = False
) -> Submission:
    """A student's work: the files of exercises, or else the one notebook, or else the archive."""
    try:
        return _work(name, folder, guess_names, in_archive)
    except OSError as error:
        return _refused(
            name,
            f"The folder could not be read: {error.strerror}. Let it be read (chmod -R u+rX), and "
            "grade it again.",
        )


def _work(name: str, folder: Path, guess_names: bool, in_archive: bool) -> Submission:
    files = _exercise_files(folder)
    folders = [folder, *_only_folder(folder)]
    exercises = folder / "exercises"
    if exercises not in folders and exercises.is_dir() and not exercises.is_symlink():
        folders.insert(1, exercises)
    entries = [entry for searched in folders for entry in sorted(searched.iterdir())]
    loose = _loose(entries, files)
    graded = [] if files else next(filter(None, map(_notebooks, folders)), [])
    guessed = _guessed(loose, files) if guess_names and not graded else {}
    files |= guessed
    if len(graded) > 1:
        called = " and ".join(shown(file.name) for file in graded)
        return _refused(name, f"There are {len(graded)} notebooks, {called}: submit one.")
    archives = [entry for entry in entries if archive.is_archive(entry.name) and not entry.is_dir()]
    used = [*files.values(), *graded]
    if not used and archives and not in_archive:
        if len(archives) > 1:
            called = " and ".join(shown(file.name) for file in archives)
            return _refused(name, f"There are {len(archives)} archives, {called}: submit one.")
        used = archives
        submission = _in_archive(name, archives[0], guess_names)
    elif graded:
        submission = from_notebook(name, graded[0])
    else:
        submission = _read(name, files)
        submission.absent.update(_absent(loose, files, entries))
    read = {*used, *folders}
    passed = [
        PassedOver(shown(str(entry.relative_to(folder))), *reason)
        for entry in entries
        if entry not in read
        and (reason := _reason(entry, bool(used), in_archive, loose, files, guess_names))
    ]
    return replace(
        submission,
        passed_over=(*submission.passed_over, *passed),
        guessed=submission.guessed
        | {exercise: shown(file.name) for exercise, file in guessed.items()},
    )


def _loose(entries: list[Path], files: dict[str, Path]) -> dict[Path, str]:
    """The Python files that are not an exercise's by their name and place: {file: source}."""
    loose: dict[Path, str] = {}
    for entry in entries:
        is_kit_file = entry.name.startswith((".", "__", "test_")) or entry.name == "conftest.py"
        if (
            entry.suffix.lower() != ".py"
            or entry in files.values()
            or is_kit_file
            or entry.is_dir()
        ):
            continue
        if len(loose) == MAX_LOOSE:
            break
        try:
            loose[entry] = _source(entry)
        except (OSError, ValueError):
            loose[entry] = ""
    return loose


def _guessed(loose: dict[Path, str], files: dict[str, Path]) -> dict[str, Path]:
    """Return the file for each exercise without one, where just one defines all of its names."""
    candidates: dict[str, list[Path]] = defaultdict(list)
    for file, source in loose.items():
        for exercise in names.defined(source):
            candidates[exercise].append(file)
    return {
        exercise: defining[0]
        for exercise, defining in candidates.items()
        if exercise not in files and len(defining) == 1
    }


def _absent(loose: dict[Path, str], files: dict[str, Path], entries: list[Path]) -> dict[str, str]:
    """Return what to say of each exercise that has no file: what lies there instead."""
    absent = {}
    about = {file: _seems(file, source) for file, source in loose.items()}
    visible = [entry.name for entry in entries if not entry.name.startswith((".", "__"))]
    for exercise in curriculum.NAMES:
        if exercise in files:
            continue
        says = [f"There is no file {exercise}.py."]
        candidates = [file for file, seems in about.items() if exercise in seems]
        for file in candidates[:3]:
            says.append(
                f"{shown(file.name)} seems to be it, but the name must be {exercise}.py."
                if exercise in names.defined(loose[file])
                else f"{shown(file.name)} has a similar name, but does not define all of "
                f"{', '.join(curriculum.find(exercise).entries)}."
            )
        if not files and not candidates and visible:
            says.append(f"What was submitted: {_listed(visible)}.")
        absent[exercise] = " ".join(says)
    return absent


def _seems(file: Path, source: str) -> list[str]:
    """Return the exercises that a file seems to be, under another name."""
    namesake = names.namesake(file.stem)
    defined = [*names.defined(source)]
    return defined if namesake is None or namesake in defined else [*defined, namesake]


def _reason(
    entry: Path,
    graded: bool,
    in_archive: bool,
    loose: dict[Path, str],
    files: dict[str, Path],
    guess_names: bool,
) -> tuple[str, bool] | None:
    """Return why an entry of a student's folder is not graded, and whether it looks like work."""
    if entry.is_dir():
        if entry.name in names.BY_PRODUCTS or entry.is_symlink() or not _looks_like_work(entry):
            return None
        if entry.name.startswith((".", "__")):
            return f"a folder that begins with {_start(entry)} is not read", True
        return (_BESIDE if graded else "there are several folders; submit one"), True
    if entry.suffix == ".ipynb" and not entry.name.startswith("._"):
        return _BESIDE, True
    if archive.is_archive(entry.name):
        nested = "an archive inside an archive is not read"
        return (nested if in_archive and not graded else _BESIDE), True
    if archive.is_unreadable(entry.name):
        return _OTHER_ARCHIVE, True
    if entry in loose and graded and not files:
        return _BESIDE, names.is_about_work(entry, loose[entry])
    if entry in loose:
        return _reason_loose(entry, loose, files, guess_names)
    if not graded and entry.suffix.lower() in _DOCUMENTS:
        return "not a Python file, a notebook or an archive", True
    return None


def _reason_loose(
    entry: Path, loose: dict[Path, str], files: dict[str, Path], guess_names: bool
) -> tuple[str, bool]:
    seems = _seems(entry, loose[entry])
    missing = [exercise for exercise in seems if exercise not in files]
    if entry.stem in missing:
        return "other files are graded, and this one does not lie beside them", True
    if missing:
        defines = [exercise for exercise in missing if exercise in names.defined(loose[entry])]
        file_names = ", ".join(f"{exercise}.py" for exercise in missing)
        if not defines:
            return f"it is named like {file_names}, but does not define its names", True
        if guess_names:
            return f"several files define the names of {file_names}; rename the right one", True
        return f"it seems to be {file_names}; rename it, or add --guess-names", True
    if seems:
        return f"{', '.join(f'{seem}.py' for seem in seems)} is graded", True
    return "not the file of an exercise", names.is_about_work(entry, loose[entry])


def _looks_like_work(entry: Path) -> bool:
    """Return whether a file, or a folder to a depth of two, seems to hold answers."""
    try:
        return any(map(_is_work, islice(_within(entry, 2), MAX_LOOSE)))
    except OSError:  # what cannot be opened may hold some, and has to be reported
        return True


def _within(entry: Path, depth: int) -> Iterator[Path]:
    if not entry.is_dir():
        yield entry
    elif depth >= 0 and not entry.is_symlink():
        for inside in sorted(entry.iterdir()):
            if not inside.name.startswith((".", "__")):
                yield from _within(inside, depth - 1)


def _is_work(file: Path) -> bool:
    if file.suffix == ".ipynb" or archive.is_archive(file.name) or archive.is_unreadable(file.name):
        return True
    if file.suffix.lower() != ".py" or file.name.startswith("test_"):
        return False
    if names.namesake(file.stem):
        return True
    try:
        return names.is_about_work(file, _source(file))
    except (OSError, ValueError):
        return False


def _only_folder(folder: Path) -> list[Path]:
    """The folder in a student's folder, if there is just one: an archive is often unpacked so."""
    inner = [entry for entry in folder.iterdir() if _is_student(entry)]
    return inner if len(inner) == 1 else []


def _notebooks(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.glob("*.ipynb") if not entry.name.startswith("."))


def _is_student(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink() and not entry.name.startswith((".", "__"))


def _exercise_files(folder: Path) -> dict[str, Path]:
    """Return the files in a student's folder, in its `exercises/`, or in the one folder in it."""
    return _files(folder, folder / "exercises", *_only_folder(folder))


def _files(*folders: Path) -> dict[str, Path]:
    """Return the exercises' files in the first of these folders that has any."""
    for folder in folders:
        files = {name: folder / f"{name}.py" for name in curriculum.NAMES}
        present = {name: file for name, file in files.items() if file.is_symlink() or file.exists()}
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
        raise ValueError("it is not UTF-8 text. Save it as UTF-8 and submit it again") from None
    declared = _DECLARATION.match(source)
    if declared and not _READ_ALIKE.fullmatch(declared[1].lower().replace("_", "-")):
        raise ValueError(
            f"its first lines say that it is not UTF-8 but {declared[1][:40]}. Delete that line, "
            "save the file as UTF-8 and submit it again"
        )
    return source


# PEP 263, "Defining Python Source Code Encodings". No codec of a student's choice is ever used:
# some take any amount of time. What is UTF-8 reads the same under those that are named here, or is
# what its author did not mean.
_DECLARATION = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_READ_ALIKE = re.compile(r"utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-?8859-\d+|(cp|windows-)125\d")
_LINKED_FOLDER = "the folder is a link; submit the files themselves"
