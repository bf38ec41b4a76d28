"""Makes a course that nbgrader accepts, and brings one that is there up to date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode

from grader import curriculum
from grader.course import CONFIG, building, points
from grader.report.data import write

DEFAULT_ASSIGNMENT = "transformer"
_LINES = "from grader.course import configure\n\nconfigure(c)\n"


class CourseError(Exception):
    """The course cannot be made. The message says why and what to do."""


def make(
    folder: Path, assignment: str = DEFAULT_ASSIGNMENT, exercises: Sequence[str] = ()
) -> list[str]:
    """Write the course at `folder`; what the instructor changed in one that is there stays.

    `exercises` are those of the assignment; none means those it has, or the core eight. Returns
    what was done, a sentence each. Raises `CourseError`.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w. -]*", assignment):
        raise CourseError(
            f"{assignment!r} cannot be the name of an assignment. Use letters, digits, '-' and '_'."
        )
    path = building.source_path(folder, assignment)
    present = _present(path)
    chosen = _chosen(exercises, present)
    worth = points.of_notebook(present) if present else points.Worth()
    fresh = building.notebook(assignment, chosen, worth.exercises, worth.questions)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sentences = [_configured(folder)]
        if present is None:
            count = "1 exercise" if len(chosen) == 1 else f"{len(chosen)} exercises"
            updated, changes = fresh, [f"Made {path} with {count}."]
        else:
            updated, changes = _updated(present, fresh, path)
        if updated is not present or changes:
            nbformat.validate(updated)
            write(path, nbformat.writes(updated) + "\n")
    except OSError as error:
        raise CourseError(f"{folder} cannot be written: {error.strerror}.") from None
    return [*sentences, *(changes or [f"{path} is up to date."])]


def _present(path: Path) -> NotebookNode | None:
    if not path.exists():
        return None
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # whatever nbformat makes of a damaged file
        raise CourseError(
            f"{path} is not a readable notebook ({type(error).__name__}). Fix or move it."
        ) from None


def _chosen(exercises: Sequence[str], present: NotebookNode | None) -> list[str]:
    unknown = [name for name in exercises if name not in curriculum.NAMES]
    if unknown:
        raise CourseError(curriculum.unknown(unknown[0]))
    known = present.metadata.get(building.KEY, {}).get("exercises", ()) if present else ()
    core = [name.name for name in curriculum.EXERCISES if name.core]
    wanted = {*exercises, *known} or set(core)
    return [name for name in curriculum.NAMES if name in wanted]


def _configured(folder: Path) -> str:
    """Write nbgrader's configuration if there is none; one that is there is the instructor's."""
    path = folder / CONFIG
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        name = folder.resolve().name
        text = f"c = get_config()\nc.CourseDirectory.course_id = {name!r}\n\n{_LINES}"
        write(path, text + "\n# What you set below this line takes precedence.\n")
        return f"Made {path}."
    if "grader.course" in path.read_text(encoding="utf-8", errors="replace"):
        return f"{path} is unchanged."
    wanted = _LINES.replace("\n\n", "; ").strip()
    return f"{path} is yours and was not changed. To let the kit grade, add to it: {wanted}"


def _updated(
    present: NotebookNode, fresh: NotebookNode, path: Path
) -> tuple[NotebookNode, list[str]]:
    """Return the notebook that is there with the kit's cells as they are today."""
    changes = []
    made_before = set(present.metadata.get(building.KEY, {}).get("parts", ()))
    wanted = {_part(cell): cell for cell in fresh.cells}
    cells = [cell for cell in present.cells if not _is_given_no_more(cell, wanted)]
    places = {_part(cell): cell for cell in cells if _part(cell)}
    before: NotebookNode | None = None
    for part, cell in wanted.items():
        there = places.get(part)
        if there is None:
            if part in made_before:
                continue
            index = next((i + 1 for i, present in enumerate(cells) if present is before), 0)
            cells.insert(index, cell)
            changes.append(f"{path}: the cell {part} is new.")
            before = cell
            continue
        before = there
        if there.source == cell.source:
            continue
        if building.fingerprint(there.source) != there.metadata[building.KEY].get("made"):
            changes.append(f"{path}: the cell {part} was edited and is left unchanged.")
            continue
        there.source = cell.source
        there.metadata[building.KEY] = cell.metadata[building.KEY]
        changes.append(f"{path}: the cell {part} is brought up to date.")
    present.cells = cells
    parts = sorted(made_before | wanted.keys())
    present.metadata[building.KEY] = {**fresh.metadata[building.KEY], "parts": parts}
    return present, changes


def _is_given_no_more(cell: NotebookNode, wanted: dict[str, NotebookNode]) -> bool:
    """Return whether the notebook provides an exercise solved that is assigned now."""
    part = _part(cell)
    return "-given" in part and part not in wanted


def _part(cell: NotebookNode) -> str:
    """Return which of the kit's cells this is; "" for the instructor's own."""
    mark = cell.metadata.get(building.KEY)
    part = mark.get("part") if isinstance(mark, dict) else None
    return part if isinstance(part, str) else ""
