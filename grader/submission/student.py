"""One student's work: a folder of files, a notebook, or an archive of either."""

from __future__ import annotations

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader import curriculum
from grader.curriculum import stubs
from grader.feedback.results import PassedOver
from grader.submission import archive, cells, names
from grader.submission.cells import Cell
from grader.submission.files import (
    AS_TEXT,
    DOCUMENTS,
    MAX_LOOSE,
    OTHER_ARCHIVE,
    exercise_files_in,
    hidden_work,
    listed,
    looks_like_work,
    shown,
    source_of,
    start_of_name,
)
from grader.submission.notebook import Layout, layout

_BESIDE = "other files there are graded"
_NOT_CODE = "not a Python file, a notebook or an archive"
_TOO_DEEP = f"folders more than {archive.MAX_DEPTH} deep are not read; submit the files themselves"


class SubmissionError(Exception):
    """A path that holds no submission."""


@dataclass(frozen=True)
class Submission:
    """One student's work. `problems` says, by exercise, why a file could not be read.

    Where it is a notebook, `cells` are its cells; a source then tells what there is of an exercise,
    and the cells are what is run. `absent` says what lies there in place of an exercise's file;
    `guessed` names the file that was read as another; `others` are the entries of a folder that
    has no exercise's file.
    """

    name: str
    sources: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)
    guessed: dict[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()

    @property
    def unreadable(self) -> str:
        """Why nothing of it can be graded, whatever the exercises; "" if there is some work."""
        if self.sources or self.cells:
            return ""
        if len(self.problems) == len(curriculum.NAMES):
            (*reasons,) = {*self.problems.values()}
            return reasons[0] if len(reasons) == 1 else ""
        if self.problems or self.passed_over:
            return ""
        if self.others:
            return f"no file of an exercise; what was submitted: {listed(self.others)}"
        return "the submission is empty"

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


def refused(name: str, problem: str) -> Submission:
    """Return work of which nothing can be read, for every exercise the same `problem`."""
    return Submission(name, problems=dict.fromkeys(curriculum.NAMES, problem))


def read_files(name: str, files: dict[str, Path]) -> Submission:
    """Return the work in these files, by exercise."""
    submission = Submission(name)
    for exercise, file in files.items():
        try:
            # The kit's own answers import from `solutions`, where they lie.
            submission.sources[exercise] = stubs.for_exercises(source_of(file))
        except OSError as error:
            submission.problems[exercise] = f"{file.name} could not be read: {error.strerror}."
        except ValueError as error:
            submission.problems[exercise] = f"{file.name} could not be read: {error}."
    return submission


def from_notebook(name: str, path: Path) -> Submission:
    """Return the submission in a notebook; an unreadable one is a problem of every exercise."""
    try:
        read = cells.read(path)
    except cells.NotebookError as error:
        return refused(name, f"{shown(path.name)} could not be read: {error}.")
    code = tuple(
        cell if cell.kind == "code" else Cell(cell.kind, "", cell.grade_id) for cell in read
    )
    return Submission(name, layout(code).sources(), cells=code)


def from_archive(name: str, path: Path, guess_names: bool) -> Submission:
    """Return the work in a zip or tar archive."""
    try:
        with unpacked(path, archive.STUDENT) as folder:
            return from_folder(name, folder, guess_names, in_archive=True)
    except archive.ArchiveError as error:
        return refused(name, f"{shown(path.name)} could not be read: {error}.")


@contextmanager
def unpacked(path: Path, limits: archive.Limits) -> Iterator[Path]:
    """A temporary folder with what an archive holds. Raises `ArchiveError`.

    Raises `SubmissionError` where the disk is full.
    """
    with temporary() as folder:
        archive.unpack(path, folder, limits)
        yield folder


@contextmanager
def temporary() -> Iterator[Path]:
    """A temporary folder. Raises `SubmissionError` where the disk is full."""
    with tempfile.TemporaryDirectory(prefix="submission-") as path:
        try:
            yield Path(path)
        except OSError as error:
            raise SubmissionError(
                f"Submissions could not be unpacked into {tempfile.gettempdir()}: "
                f"{error.strerror}. Make room there, or name another folder in TMPDIR."
            ) from None


def from_folder(
    name: str, folder: Path, guess_names: bool = False, in_archive: bool = False
) -> Submission:
    """Return a student's work: exercise files, or else the one notebook, or else the archive."""
    try:
        return _work(name, folder, guess_names, in_archive)
    except OSError as error:
        return refused(
            name,
            f"The folder could not be read: {error.strerror}. Let it be read (chmod -R u+rX), and "
            "grade it again.",
        )


def _work(name: str, folder: Path, guess_names: bool, in_archive: bool) -> Submission:
    folders = _chain(folder, in_archive)
    files = _exercise_files(folders)
    entries = [entry for searched in folders for entry in sorted(searched.iterdir())]
    loose = _loose(entries, files)
    graded = [] if files else next(filter(None, map(_notebooks, folders)), [])
    guessed = _guessed(loose, files) if guess_names and not graded else {}
    files |= guessed
    if len(graded) > 1:
        called = " and ".join(shown(file.name) for file in graded)
        return refused(name, f"There are {len(graded)} notebooks, {called}: submit one.")
    archives = [entry for entry in entries if archive.is_archive(entry.name) and not entry.is_dir()]
    used = [*files.values(), *graded]
    if not used and archives and not in_archive:
        if len(archives) > 1:
            called = " and ".join(shown(file.name) for file in archives)
            return refused(name, f"There are {len(archives)} archives, {called}: submit one.")
        used = archives
        submission = from_archive(name, archives[0], guess_names)
    elif graded:
        submission = from_notebook(name, graded[0])
    else:
        submission = read_files(name, files)
        visible = tuple(entry.name for entry in entries if not _is_hidden(entry))
        submission.absent.update(_absent(loose, files, visible))
        submission = replace(submission, others=() if files else visible)
    read = {*used, *folders}
    passed = [
        PassedOver(shown(str(entry.relative_to(folder))), *reason)
        for entry in entries
        if entry not in read
        and (
            reason := _reason(entry, bool(used), in_archive, loose, files, guess_names)
            or _reason_copy(entry, submission.sources)
        )
    ]
    return replace(
        submission,
        passed_over=(*submission.passed_over, *passed),
        guessed=submission.guessed
        | {exercise: shown(file.name) for exercise, file in guessed.items()},
    )


def _loose(entries: list[Path], files: dict[str, Path]) -> dict[Path, str]:
    """Return the Python files whose name and place are no exercise's: {file: source}."""
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
            loose[entry] = source_of(entry)
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


def _absent(
    loose: dict[Path, str], files: dict[str, Path], visible: Sequence[str]
) -> dict[str, str]:
    """Return what to say of each exercise that has no file: what lies there instead."""
    absent = {}
    about = {file: _seems(file, source) for file, source in loose.items()}
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
            says.append(f"What was submitted: {listed(visible)}.")
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
        if entry.name in names.BY_PRODUCTS or entry.is_symlink() or not looks_like_work(entry):
            return None
        if entry.name.startswith((".", "__")):
            return f"a folder that begins with {start_of_name(entry)} is not read", True
        if graded:
            is_kit = entry.name == "grader" and (entry / "pytest_plugin.py").is_file()
            return ("a folder of the student's edition", False) if is_kit else (_BESIDE, True)
        several = len(_folders_in(entry.parent)) > 1
        return ("there are several folders; submit one" if several else _TOO_DEEP), True
    if entry.name.startswith("."):
        return hidden_work(entry)
    if entry.suffix == ".ipynb":
        return _BESIDE, True
    if archive.is_archive(entry.name):
        nested = "an archive inside an archive is not read"
        return (nested if in_archive and not graded else _BESIDE), True
    if archive.is_unreadable(entry.name):
        return OTHER_ARCHIVE, True
    if entry in loose and graded and not files:
        return _BESIDE, names.is_about_work(entry, loose[entry])
    if entry in loose:
        return _reason_loose(entry, loose, files, guess_names)
    if entry.name.lower().endswith(AS_TEXT):
        return "its name must end in .py", True
    if not graded and entry.suffix.lower() in DOCUMENTS:
        return _NOT_CODE, True
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


def _reason_copy(entry: Path, sources: Mapping[str, str]) -> tuple[str, bool] | None:
    """Return why a copy of an exercise's file is not graded: it is work where nothing else is."""
    exercise = None if entry.is_dir() or _is_hidden(entry) else names.of_copy(entry.name)
    if exercise is None:
        return None
    if exercise in sources and not stubs.is_untouched(sources[exercise]):
        return f"{exercise}.py is graded", False
    if entry.suffix.lower() in DOCUMENTS:
        return _NOT_CODE, True
    if exercise not in sources:
        return f"it may be {exercise}.py; rename it if it is", True
    return f"{exercise}.py is the original file; rename this one if it is the work", True


def _chain(folder: Path, in_archive: bool) -> list[Path]:
    """Return a student's folder, its `exercises/` or only folder, and so on inward.

    Packing or unpacking a folder often puts others around it. The chain ends one folder after the
    first that holds something to grade.
    """
    chain = [folder]
    holds_work = False
    while not holds_work and len(chain) <= archive.MAX_DEPTH:
        holds_work = _holds_work(chain[-1], in_archive)
        inner = _folders_in(chain[-1])
        exercises = [entry for entry in inner if entry.name == "exercises"]
        if not exercises and len(inner) != 1:
            break
        chain += exercises or inner
    return chain


def _holds_work(folder: Path, in_archive: bool) -> bool:
    """Return whether something would be graded that lies in this folder itself."""
    if exercise_files_in(folder) or _notebooks(folder):
        return True
    return not in_archive and any(archive.is_archive(entry.name) for entry in folder.iterdir())


def _folders_in(folder: Path) -> list[Path]:
    return [
        entry
        for entry in folder.iterdir()
        if entry.is_dir() and not entry.is_symlink() and not _is_hidden(entry)
    ]


def _notebooks(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.glob("*.ipynb") if not entry.name.startswith("."))


def _is_hidden(entry: Path) -> bool:
    return entry.name.startswith((".", "__"))


def _exercise_files(chain: list[Path]) -> dict[str, Path]:
    """Return the files in the first folder that has any. A link in its place is reported so."""
    folders = []
    for folder in chain:
        exercises = folder / "exercises"
        folders += [folder, exercises] if exercises.is_symlink() else [folder]
    return exercise_files_in(*folders)
