"""The workspace of somebody who works in a notebook: the cells instead of files."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from grader.board.workspace import Workspace
from grader.curriculum import EXERCISES, find
from grader.feedback.finding import Place

_CELL = ("ipykernel_", "<ipython-input-")


class NotebookWorkspace(Workspace):
    """Finds the student's code by the objects of the notebook, and names cells by exercise."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        super().__init__(Path(), Path())
        self.namespace = namespace

    def source(self, exercise: str) -> str:
        """The cells that define the names of the exercise, one after the other."""
        codes = [_code_of(self.namespace.get(name), "return") for name in find(exercise).entries]
        files = dict.fromkeys(code.co_filename for code in codes if code is not None)
        return "\n".join(map(_source, files))

    def holds_code(self, path: str) -> Path | None:
        """The exercise of a cell's code as a path, such as `attention`; None for other code."""
        if not any(mark in path for mark in _CELL):
            return None
        return Path(_exercise_in(_source(path)))

    def places(self, traceback: TracebackType | None) -> Iterator[tuple[Path, Place]]:
        """Those frames of a traceback that are code of a cell, the outermost first."""
        while traceback is not None:
            code = traceback.tb_frame.f_code
            path = self.holds_code(code.co_filename)
            if path is not None:
                yield path, _place(code.co_filename, traceback.tb_lineno, code.co_qualname)
            traceback = traceback.tb_next

    def syntax_place(self, error: SyntaxError) -> tuple[Path, Place] | None:
        """None: a cell that Python cannot read defines nothing that could be tested."""
        del error
        return None

    def answer(self, exercise: str, entry: str, points_at: str) -> Place | None:
        """The line of `entry` to look at: its only `return`, its `__init__` or its beginning."""
        del exercise
        code = _code_of(self.namespace.get(entry), points_at)
        if code is None or self.holds_code(code.co_filename) is None:
            return None
        line = code.co_firstlineno
        if points_at == "return":
            line = _only_return(_source(code.co_filename), line) or line
        return _place(code.co_filename, line, code.co_qualname)


def _place(file: str, line: int, inside: str) -> Place:
    label = f"cell of {_exercise_in(_source(file)) or 'your notebook'}"
    text = linecache.getline(file, line).strip()
    return Place(f"{label}, line {line}", 0, text, "" if inside == "<module>" else inside)


def _source(file: str) -> str:
    return "".join(linecache.getlines(file))


def _exercise_in(source: str) -> str:
    """The exercise whose names a cell defines, or ""."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ""
    defined = {getattr(node, "name", "") for node in tree.body}
    found = [one.name for one in EXERCISES if defined & set(one.entries)]
    return found[0] if found else ""


def _code_of(found: Any, points_at: str) -> CodeType | None:
    if isinstance(found, type):
        found = vars(found).get("forward" if points_at == "return" else "__init__")
    code = getattr(found, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _only_return(source: str, first: int) -> int | None:
    """The line of the one `return` in the function that begins at line `first`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            begins = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if begins == first:
                lines = [one.lineno for one in ast.walk(node) if isinstance(one, ast.Return)]
                return lines[0] if len(lines) == 1 else None
    return None
