"""Puts the cells of a submitted notebook in order, whatever was done to them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    CheckCellMetadata,
    DeduplicateIds,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
)

from grader import curriculum
from grader.course.building import KEY
from grader.course.submitted import WAITING, new_cell
from grader.submission.notebook import binds

# What nbgrader does to a notebook before it grades it.
_STOCK = (DeduplicateIds, OverwriteKernelspec, OverwriteCells, CheckCellMetadata)

# A released notebook, by the gradebook: its kernel, its cells (kind, source, name) and their tags.
Released = tuple[str, list[tuple[str, str, str]], dict[str, dict[str, Any]]]


class RepairCells(NbGraderPreprocessor):
    """Rebuilds nbgrader's metadata from the gradebook. What the notebook says of it counts little.

    Every cell of the released notebook is there afterwards, once. The text of a locked cell is
    that of the gradebook; a solution cell is the student's, found by its tag or by what it defines.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Repair the notebook; one with no exercise of the kit is treated as nbgrader does."""
        if not self.parent.exercises(resources):
            for step in _STOCK:
                nb, resources = step(parent=self.parent)(nb, resources)
            return nb, resources
        kernelspec, cells, tags = self._released(resources["nbgrader"])
        nb.metadata["kernelspec"] = json.loads(kernelspec)
        released = [_cell(kind, source, name) for kind, source, name in cells]
        present_cells = _places(nb.cells, released)
        for cell in nb.cells:
            cell.metadata.pop("nbgrader", None)
        before: NotebookNode | None = None
        for cell in released:
            name = cell.metadata["nbgrader"]["grade_id"]
            present = present_cells.get(name)
            if present is None:
                nb.cells.insert(_index(nb.cells, before) + 1, cell)
                present = cell
            elif not tags[name]["solution"]:
                nb.cells[_index(nb.cells, present)] = cell
                present = cell
            present.metadata["nbgrader"] = dict(tags[name])
            before = present
        nb.metadata[KEY] = WAITING
        return nb, resources

    def _released(self, about: dict[str, Any]) -> Released:
        """Return the released notebook, which is the same for all that a run of nbgrader converts.

        To ask the gradebook takes as long as to repair.
        """
        known: dict[tuple[str, str], Released] = self.parent.released
        key = (about["assignment"], about["notebook"])
        if key not in known:
            with Gradebook(about["db_url"]) as gradebook:
                notebook = gradebook.find_notebook(about["notebook"], about["assignment"])
                cells = [(cell.cell_type, cell.source, cell.name) for cell in notebook.source_cells]
                known[key] = (notebook.kernelspec, cells, _tags(notebook))
        return known[key]


def _cell(kind: str, source: str, name: str) -> NotebookNode:
    made = new_cell(kind, source)
    made.metadata["nbgrader"] = {"grade_id": name}
    return made


def _tags(notebook: Any) -> dict[str, dict[str, Any]]:
    """nbgrader's metadata of every cell, as the gradebook has it."""
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    graded = {cell.name for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    tasks = {cell.name for cell in notebook.task_cells}
    return {
        cell.name: {
            "schema_version": 3,
            "grade_id": cell.name,
            "grade": cell.name in graded,
            "solution": cell.name in solutions,
            "task": cell.name in tasks,
            "locked": cell.locked,
            "cell_type": cell.cell_type,
            "checksum": cell.checksum,
            **({"points": points[cell.name]} if cell.name in points else {}),
        }
        for cell in notebook.source_cells
    }


def _places(cells: list[NotebookNode], released: list[NotebookNode]) -> dict[str, NotebookNode]:
    """Return which of the student's cells corresponds to which released cell."""
    tagged: dict[str, list[NotebookNode]] = {}
    for cell in cells:
        tagged.setdefault(cell.metadata.get("nbgrader", {}).get("grade_id", ""), []).append(cell)
    chosen: dict[str, NotebookNode] = {}
    taken: set[int] = set()
    names = [cell.metadata["nbgrader"]["grade_id"] for cell in released]
    # First the cells that define an exercise, so that no other name can claim them.
    for name in sorted(names, key=lambda name: name not in curriculum.NAMES):
        candidates = [cell for cell in tagged.get(name, []) if id(cell) not in taken]
        if name in curriculum.NAMES:
            candidates = _defining(name, candidates) or _defining(name, cells) or candidates
            candidates = [cell for cell in candidates if id(cell) not in taken]
        if candidates:
            chosen[name] = candidates[-1]
            taken.add(id(candidates[-1]))
    return chosen


def _defining(exercise: str, cells: list[NotebookNode]) -> list[NotebookNode]:
    """Return the cells that define a name of the exercise, those still to be written first."""
    entries = set(curriculum.find(exercise).entries)
    code = [cell for cell in cells if cell.cell_type == "code"]
    defining = [cell for cell in code if _binds(cell.source) & entries]
    return sorted(defining, key=lambda cell: "NotImplementedError" not in cell.source)


@lru_cache(maxsize=256)
def _binds(source: str) -> frozenset[str]:
    """Return the names that a cell's code binds. Most cells of a class are unchanged."""
    return frozenset() if source.lstrip().startswith("%%check") else binds(source)


def _index(cells: list[NotebookNode], cell_wanted: NotebookNode | None) -> int:
    """Return the place of a cell itself, not of an equal one; -1 for None."""
    return next((index for index, cell in enumerate(cells) if cell is cell_wanted), -1)
