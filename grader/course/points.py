"""What the exercises of an assignment are worth, as the instructor's notebook has it.

They are changed in one place, the grade cells of the instructor's version, and everything that
tells a student of points reads them there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from grader import curriculum
from grader.course import CONFIG, building
from grader.submission.cells import POINTS


@dataclass(frozen=True)
class Worth:
    """The points of an assignment: by exercise, and of all the instructor's own questions."""

    exercises: dict[str, float] = field(default_factory=dict)
    questions: float = 0.0


def of_notebook(notebook: NotebookNode) -> Worth:
    """Return what the grade cells of a notebook are worth."""
    points, questions = {}, 0.0
    for cell in notebook.cells:
        tag: dict[str, Any] = cell.metadata.get("nbgrader", {})
        if not (tag.get("grade") or tag.get("task")):
            continue
        name = str(tag.get("grade_id", "")).removesuffix(POINTS)
        if name in curriculum.NAMES:
            points[name] = float(tag.get("points", 0))
        else:
            questions += float(tag.get("points", 0))
    return Worth(points, questions)


def of_submissions(path: Path) -> Worth | None:
    """Return what the exercises are worth in the nbgrader course around `path`, if there is one.

    None, too, where the course has several assignments and `path` is of no single one.
    """
    course = next(
        (parent for parent in path.resolve().parents if (parent / CONFIG).is_file()), None
    )
    if course is None:
        return None
    made = {path.name: path for path in sorted((course / "source").glob("*")) if path.is_dir()}
    assignments = {name for name in _folders(path.resolve()) if name in made}
    if len(assignments) != 1:
        return None
    (assignment,) = assignments
    worth = Worth()
    for file in sorted(made[assignment].glob("*.ipynb")):
        more = of_notebook(nbformat.read(file, as_version=4))
        worth = Worth({**worth.exercises, **more.exercises}, worth.questions + more.questions)
    return worth


def _folders(path: Path) -> Iterator[str]:
    """Yield the names of the folders above `path` and of two levels in it."""
    yield path.name
    yield from (parent.name for parent in path.parents)
    for pattern in ("*", "*/*"):
        yield from (folder.name for folder in path.glob(pattern) if folder.is_dir())


def say(notebook: NotebookNode, assignment: str) -> None:
    """Put the points of its grade cells into the kit's own texts in it.

    A text that the instructor has edited stays as it is.
    """
    worth = of_notebook(notebook)
    made = building.notebook(assignment, list(worth.exercises), worth.exercises, worth.questions)
    texts = {
        cell.metadata[building.KEY]["part"]: cell
        for cell in made.cells
        if cell.cell_type == "markdown"
    }
    for cell in notebook.cells:
        mark = cell.metadata.get(building.KEY, {})
        text = texts.get(mark.get("part"))
        if text is not None and building.fingerprint(cell.source) == mark.get("made"):
            cell.source = text.source
            cell.metadata[building.KEY] = text.metadata[building.KEY]
