"""What can be read from a notebook before it runs: its tests, its answers, what is to do.

Nothing is parsed here: whatever the cells hold, to read them takes as long as they are.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from grader import curriculum
from grader.curriculum import stubs
from grader.curriculum.project import SOLUTIONS
from grader.submission import structure
from grader.submission.cells import POINTS, Cell

_ENTRIES = {exercise.name: exercise.entries for exercise in curriculum.EXERCISES}
_EXERCISE_OF = {entry: name for name, entries in _ENTRIES.items() for entry in entries}
_BINDING = re.compile(
    r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE
)
_CHECK = re.compile(r"\s*%%check[ \t]+(\w+)")
_UNWRITTEN = "raise NotImplementedError"


def binds(source: str) -> frozenset[str]:
    """Return the names of exercises that a cell's code seems to give a meaning to."""
    names = {match[1] or match[2] for match in _BINDING.finditer(source)}
    return frozenset(names & _EXERCISE_OF.keys())


@dataclass(frozen=True)
class Layout:
    """The layout of a notebook.

    `tests` has, by exercise, the number of cells above its tests; `own` the cells of its answer.
    """

    cells: tuple[Cell, ...]
    tests: Mapping[str, int]
    own: Mapping[str, tuple[int, ...]]
    bound: tuple[frozenset[str], ...]

    def order(self, exercises: Iterable[str]) -> list[str]:
        """Return the exercises in the order of their tests."""
        return sorted(exercises, key=lambda name: (self.tests[name], curriculum.NAMES.index(name)))

    def sources(self) -> dict[str, str]:
        """Return the code of each exercise that the notebook's code has names of.

        What only a text or a comment names was not answered. The code is the stub if the answer is
        unchanged, else the text of its cells.
        """
        named = {
            name
            for index, cell in enumerate(self.cells)
            if self.runs(index)
            for name in structure.names(cell.source) | self.bound[index]
        }
        texts = {}
        for name, entries in _ENTRIES.items():
            if not named & {*entries}:
                continue
            own = [self.cells[index] for index in self.own[name]]
            if own and all(_plain(cell.source) == _plain_stub(name) for cell in own):
                texts[name] = _stub(name)
            else:
                texts[name] = "\n\n".join(cell.source for cell in own)
        return texts

    def labels(self) -> dict[str, str]:
        """Return how messages name each cell, by its file name in the process that runs it."""
        return {
            f"cell_{index}": self._label(index)
            for index in range(len(self.cells))
            if self.runs(index)
        }

    def texts(self) -> dict[str, str]:
        """Return the code of each cell, by the same names."""
        return {f"cell_{index}": cell.source for index, cell in enumerate(self.cells)}

    def payload(self) -> dict[str, Any]:
        """Return what the process that runs the cells has to know."""
        return {
            "cells": [
                cell.source if self.runs(index) else None for index, cell in enumerate(self.cells)
            ],
            "tests": dict(self.tests),
            "answers": {
                name: [index for index in cells if self.runs(index)]
                for name, cells in self.own.items()
            },
            "entries": {name: list(entries) for name, entries in _ENTRIES.items()},
            "keep": {name: self._kept(name) for name in _ENTRIES},
        }

    def runs(self, index: int) -> bool:
        """Return whether a cell is run: one with tests is not."""
        cell = self.cells[index]
        return cell.kind == "code" and _exercise_tested(cell) is None

    def _kept(self, exercise: str) -> dict[str, list[str]]:
        """Return the names of other exercises that cells of an exercise redefine, by cell.

        Where nothing else gives such a name a meaning, it is the answer to that other exercise.
        """
        own = self.own[exercise]
        elsewhere = frozenset().union(
            *(bound for index, bound in enumerate(self.bound) if index not in own)
        )
        needed = {
            entry
            for need in curriculum.closure(exercise)
            for entry in curriculum.find(need).entries
        }
        kept = {str(index): sorted(self.bound[index] & needed & elsewhere) for index in own}
        return {index: names for index, names in kept.items() if names}

    def _label(self, index: int) -> str:
        cell = self.cells[index]
        counted = Counter(_EXERCISE_OF[entry] for entry in self.bound[index])
        if cell.grade_id in _ENTRIES:
            return f"cell of {cell.grade_id}"
        if counted:
            return f"cell of {min(counted, key=curriculum.NAMES.index)}"
        defined = _BINDING.search(cell.source)
        if defined is not None and defined[1]:
            return f"cell of {defined[1][:40]}"
        return f"cell {index + 1} of the notebook"


def layout(cells: Sequence[Cell]) -> Layout:
    """Return the layout of these cells."""
    tests = dict.fromkeys(_ENTRIES, len(cells))
    for tagged in (False, True):  # a cell that nbgrader's name marks counts before a copy of it
        for index, cell in enumerate(cells):
            tested = _exercise_tested(cell)
            if tested is not None and cell.grade_id.endswith(POINTS) == tagged:
                tests[tested] = index
    bound = tuple(
        binds(cell.source)
        if cell.kind == "code" and _exercise_tested(cell) is None
        else frozenset[str]()
        for cell in cells
    )
    own = {
        name: tuple(
            index
            for index, cell in enumerate(cells)
            if cell.kind == "code"
            and (cell.grade_id == name or (cell.grade_id not in _ENTRIES and bound[index] & set(e)))
        )
        for name, e in _ENTRIES.items()
    }
    return Layout(tuple(cells), tests, own, bound)


def _exercise_tested(cell: Cell) -> str | None:
    """Return the exercise that a cell holds the tests of, if it does."""
    name = cell.grade_id.removesuffix(POINTS)
    if cell.grade_id.endswith(POINTS) and name in _ENTRIES:
        return name
    matched = _CHECK.match(cell.source) if cell.kind == "code" else None
    return matched[1] if matched is not None and matched[1] in _ENTRIES else None


def _plain(source: str) -> list[str]:
    """Return a cell's lines without comments, blank lines and the texts of exceptions."""
    lines = [line.strip() for line in source.split("\n")]
    return [
        _UNWRITTEN if line.startswith(_UNWRITTEN) else line
        for line in lines
        if line and not line.startswith("#")
    ]


@cache
def _stub(name: str) -> str:
    return stubs.stub((SOLUTIONS / f"{name}.py").read_text(encoding="utf-8"), name)


@cache
def _plain_stub(name: str) -> list[str]:
    """Return the stub as a notebook has it: without its docstring and what it imports of others."""
    source = _stub(name)
    lines = source.split("\n")
    tree = ast.parse(source)
    for node in reversed(tree.body):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_import = isinstance(node, ast.ImportFrom) and str(node.module).startswith("exercises.")
        if text or is_import:
            del lines[node.lineno - 1 : node.end_lineno]
    return _plain("\n".join(lines))
