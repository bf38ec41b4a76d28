"""How nbgrader reads a submitted notebook: whatever its state, it gets a grade."""

from __future__ import annotations

import functools
import glob
import json
import os
import re
import secrets
import warnings
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_notebook
from nbformat.v4.nbbase import random_cell_id
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import rmtree
from traitlets import Bool, Integer, Unicode

from grader import curriculum
from grader.course.building import KEY
from grader.course.classwork import Classwork, Conditions
from grader.course.engines import convert_with_one_engine, one_engine
from grader.course.own_tests import OwnTests
from grader.course.progress import show_progress
from grader.feedback.html import printable
from grader.feedback.results import SubmissionResult
from grader.grading.workers import processors
from grader.submission.cells import POINTS, Cell, NotebookError, read

# nbgrader's own way with its database; to an instructor they look like a failure.
warnings.filterwarnings("ignore", message="Object of type <Submitted")

# What the metadata of a notebook says from its repair until the judge's results are in it.
WAITING = "waiting"


class Submitted(NotebookExporter):
    """The exporter of `nbgrader autograde`. It lives as long as one run and holds its classwork."""

    isolation = Unicode("jail", help="How far apart a student's code runs: jail, or process.").tag(
        config=True
    )
    seed = Integer(
        None, allow_none=True, help="Draws the cases of the checks. Default: a fresh one each run."
    ).tag(config=True)
    jobs = Integer(
        None, allow_none=True, help="Workers at a time. Default: as many as keep up with nbgrader."
    ).tag(config=True)

    search = Bool(True, help="Whether to look for the wrong line where no known mistake fits.").tag(
        config=True
    )

    own_tests = Unicode(
        "jail", help="Where graded tests of your own run: jail, or kernel (with your rights)."
    ).tag(config=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._own_tests: OwnTests | None = None
        self._told: set[str] = set()
        self._classwork: dict[str, Classwork] = {}
        self._drawn = secrets.randbelow(2**31)
        self._exercises: dict[tuple[str, str], tuple[str, ...]] = {}
        self.released: dict[tuple[str, str], Any] = {}
        if self.parent is not None:
            with one_engine():
                self._enter_without_notebook()
                self._remove_links()
                self._rename()
                self._remove_interrupted()
            convert_with_one_engine(self.parent)
            show_progress(self.parent, "grading")

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[str, dict[str, Any]]:
        """Return the notebook at `filename` as far as it is readable; other notebooks as usual."""
        sanitizing = self.parent is not None and self.parent._sanitizing
        if resources is None or not sanitizing or not self.exercises(resources):
            return super().from_filename(filename, resources, **options)
        resources["metadata"] = {"name": Path(filename).stem, "path": os.path.dirname(filename)}
        self._begun(resources)
        try:
            cells = read(Path(filename))
        except NotebookError as error:
            cells = [Cell("markdown", f"**This notebook could not be read:** {error}.")]
        return self.from_notebook_node(_notebook(cells), resources, **options)

    def exercises(self, resources: dict[str, Any]) -> tuple[str, ...]:
        """Return the exercises with grade cells in a notebook, by the gradebook, if it is ours."""
        about = resources["nbgrader"]
        key = (about["assignment"], about["notebook"])
        if key not in self._exercises:
            with Gradebook(about["db_url"]) as gradebook:
                try:
                    notebook = gradebook.find_notebook(about["notebook"], about["assignment"])
                    graded = {cell.name for cell in notebook.grade_cells}
                except MissingEntry:
                    graded = set()
            names = (name for name in curriculum.NAMES if name + POINTS in graded)
            self._exercises[key] = tuple(names)
        return self._exercises[key]

    def result(self, resources: dict[str, Any]) -> SubmissionResult:
        """Return what the judge found about the notebook that is being converted.

        Raises `GraderFailureError`.
        """
        return self._begun(resources).result(self._path(resources))

    def outcomes_of_own_tests(
        self, nb: NotebookNode, resources: dict[str, Any], names: list[str]
    ) -> dict[str, dict[str, Any]]:
        """Return the results of the instructor's own tests in a notebook, by name.

        Raises `GraderFailureError`.
        """
        if self._own_tests is None:
            self._own_tests = OwnTests(self.isolation)
        about = resources["nbgrader"]
        _, cells, tags = self.released[(about["assignment"], about["notebook"])]
        released = [
            source
            for kind, source, name in cells
            if kind == "code" and (tags[name]["solution"] or not tags[name]["grade"])
        ]
        return self._own_tests.outcomes(nb.cells, names, released)

    def tell_of_kernel(self, resources: dict[str, Any], reason: str) -> None:
        """Warn, once per notebook, that its cells run with the rights of the grading user."""
        name = resources["nbgrader"]["notebook"]
        if name not in self._told:
            self._told.add(name)
            self.log.warning(
                "%s.ipynb runs in nbgrader's own kernel, outside the jail: %s. The students' code "
                "there can do whatever you can: read and change files, grades and other students' "
                "work, and use the network.",
                name,
                reason,
            )

    def _begun(self, resources: dict[str, Any]) -> Classwork:
        """Return the classwork with this notebook in it, which the judge works on from now on."""
        name, path = resources["nbgrader"]["notebook"], self._path(resources)
        classwork = self._classwork.get(name)
        if classwork is None or path not in classwork:
            classwork = Classwork([path, *self._to_come(path)], self._conditions(resources))
            self._classwork[name] = classwork
        return classwork

    def _path(self, resources: dict[str, Any]) -> Path:
        about, course = resources["nbgrader"], self.parent.coursedir
        folder = course.format_path(
            course.submitted_directory, about["student"], about["assignment"]
        )
        return Path(folder) / f"{about['notebook']}.ipynb"

    def _conditions(self, resources: dict[str, Any]) -> Conditions:
        exercises = self.exercises(resources)
        # nbgrader takes a while for each notebook itself. With a few exercises one worker keeps up
        # with it, and starts sooner than two.
        enough = 1 + len(exercises) // 4
        return Conditions(
            exercises,
            self._drawn if self.seed is None else self.seed,
            self.isolation,
            self.jobs or min(processors(), enough),
            self.search,
        )

    def _enter_without_notebook(self) -> None:
        """Give students who submitted something other than a notebook a row in the gradebook.

        nbgrader skips them, and exports would lack them.
        """
        course = self.parent.coursedir
        pattern = self.parent._format_source(course.assignment_id, course.student_id)
        without = [
            folder
            for folder in sorted(glob.glob(pattern))
            if folder not in self.parent.assignments and os.path.isdir(folder)
        ]
        if not without:
            return
        with Gradebook(course.db_url) as gradebook:
            for folder in without:
                about = _about(self.parent, folder)
                if about:
                    gradebook.update_or_create_student(about["student"])
                held = contents_of(Path(folder))
                self.log.warning("%s holds no notebook (%s). It is not graded.", folder, held)

    def _remove_links(self) -> None:
        """Remove links, pipes and devices from a submission.

        nbgrader would copy what a link points to, even the solutions, into the student's feedback.
        """
        for folder in list(self.parent.assignments):
            if any(path.is_symlink() for path in (Path(folder), Path(folder).parent)):
                self.log.warning("%s is a link. It is not graded.", folder)
                del self.parent.assignments[folder]
                continue
            for file in files_to_refuse(Path(folder)):
                self.log.warning("%s is not a regular file. It is removed.", file)
                file.unlink()

    def _rename(self) -> None:
        """Give a student's only notebook the name that nbgrader looks for.

        "transformer (1).ipynb" would end the whole run with an error.
        """
        # nbgrader takes 10 ms to open its database.
        only_notebook = functools.cache(self._only_notebook)
        for folder, files in self.parent.assignments.items():
            about = _about(self.parent, folder)
            file_name = about and only_notebook(about["assignment"])
            if file_name and len(files) == 1 and Path(files[0]).name != file_name:
                self.log.warning(
                    "%s is the only notebook there. It becomes %s.", files[0], file_name
                )
                files[0] = str(Path(files[0]).rename(Path(folder) / file_name))

    def _only_notebook(self, assignment: str) -> str | None:
        """Return the file name of the assignment's notebook, if it has one and that is ours."""
        url = self.parent.coursedir.db_url
        with Gradebook(url) as gradebook:
            try:
                (name,) = (
                    notebook.name for notebook in gradebook.find_assignment(assignment).notebooks
                )
            except (MissingEntry, ValueError):
                return None
        resources = {"nbgrader": {"assignment": assignment, "notebook": name, "db_url": url}}
        return f"{name}.ipynb" if self.exercises(resources) else None

    def _remove_interrupted(self) -> None:
        """Remove what a killed run left half done; nbgrader would consider it graded."""
        about = self.parent.init_single_notebook_resources
        for folder, files in self.parent.assignments.items():
            destination = destination_of(self.parent, folder)
            if destination is None or not os.path.isdir(destination):
                continue
            names = [Path(file).name for file in files if self.exercises(about(file))]
            if any(_is_half_done(Path(destination) / name) for name in names):
                self.log.warning("Grading of %s was interrupted. It is done again.", folder)
                rmtree(destination)

    def _to_come(self, path: Path) -> list[Path]:
        """Return the notebooks of that name that this run will convert after the one at `path`."""
        return [
            later
            for folder, files in sorted(self.parent.assignments.items())
            for later in map(Path, files)
            if later.name == path.name and later != path and _is_due(self.parent, folder)
        ]


def contents_of(folder: Path) -> str:
    """Return what a folder holds, in words: the first names, and how many more there are."""
    names = sorted(entry.name for entry in folder.iterdir())
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return str(printable(", ".join(names[:5]) + more))[:200] if names else "it is empty"


def files_to_refuse(folder: Path) -> list[Path]:
    """Return what in a folder is neither a plain file nor a folder, but for notebooks, which are
    read so that no link is followed.
    """
    return [
        Path(parent) / name
        for parent, folders, files in os.walk(folder)
        for name in (*folders, *files)
        if not name.endswith(".ipynb") and not _is_plain(Path(parent) / name)
    ]


def _is_plain(path: Path) -> bool:
    return not path.is_symlink() and (path.is_file() or path.is_dir())


def _notebook(cells: list[Cell]) -> NotebookNode:
    """Return the cells as a valid notebook. Of their metadata only nbgrader's cell name is kept."""
    made = new_notebook()
    for cell in cells:
        node = new_cell(cell.kind, cell.source)
        if cell.attachments:
            node.attachments = cell.attachments
        if cell.grade_id:
            node.metadata["nbgrader"] = {"grade_id": cell.grade_id}
        made.cells.append(node)
    return made


def new_cell(kind: str, source: str) -> NotebookNode:
    """Return a cell as nbformat makes it, not validated: the notebook is, as a whole.

    Validating cell by cell took as long as everything else done to a notebook here.
    """
    made = NotebookNode(id=random_cell_id(), cell_type=kind, metadata=NotebookNode(), source=source)
    if kind == "code":
        made.update(execution_count=None, outputs=[])
    return made


def _is_due(converter: Any, folder: str) -> bool:
    """Return whether nbgrader will convert a submission, or skip it as done."""
    destination = destination_of(converter, folder)
    if converter.force or destination is None or not os.path.exists(destination):
        return True
    timestamp = converter.coursedir.get_existing_timestamp
    try:
        new, old = timestamp(folder), timestamp(destination)
    except Exception:  # no time can be read there, which nbgrader says when it comes to that folder
        return False
    return new is not None and old is not None and new > old


def destination_of(converter: Any, folder: str) -> str | None:
    """Return where nbgrader puts what it makes of a folder, if that is a student's."""
    about = _about(converter, folder)
    return converter._format_dest(about["assignment"], about["student"]) if about else None


def _about(converter: Any, folder: str) -> re.Match[str] | None:
    """Return the assignment and the student that a folder of nbgrader's belongs to."""
    pattern = converter._format_source("(?P<assignment>.*)", "(?P<student>.*)", escape=True)
    return re.match(pattern, folder)


def _is_half_done(path: Path) -> bool:
    """Return whether a notebook is missing, incomplete or still without the judge's results."""
    try:
        return json.loads(path.read_bytes())["metadata"].get(KEY) == WAITING
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return True
