"""The workspace of a student who works in a notebook: cells instead of files."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Collection, Sequence
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

from grader.board.statements import shown
from grader.board.workspace import PublicTest, Workspace
from grader.curriculum import EXERCISES, find
from grader.curriculum.hint_limit import HintLimit
from grader.feedback.finding import Place
from grader.recognition.likeness import parsed
from grader.remote.source_lines import source_lines

_CELL = ("ipykernel_", "<ipython-input-")


class NotebookWorkspace(Workspace):
    """Finds the student's code by the objects of the notebook, and names cells by exercise."""

    def __init__(
        self,
        namespace: dict[str, Any],
        tests: Sequence[PublicTest] = (),
        limit: HintLimit | None = None,
    ) -> None:
        """Remember the names, the public tests that run on them, and how far hints go.

        Without a limit, that of an assignment.toml beside the notebook counts.
        """
        super().__init__(Path(), Path())
        self.namespace = namespace
        self._tests = {test.name: test for test in tests}
        self._limit = limit

    @property
    def limit_of_hints(self) -> HintLimit:
        """How far hints go. Raises `CurriculumError`."""
        return self._limit or super().limit_of_hints

    def tests(self, exercise: str) -> dict[str, PublicTest]:
        """Return the public tests by name, in their order."""
        del exercise
        return self._tests

    def module(self, exercise: str) -> SimpleNamespace:
        """Return the names of an exercise as a module would hold them."""
        names = [name for name in find(exercise).entries if name in self.namespace]
        return SimpleNamespace(**{name: self.namespace[name] for name in names})

    def source(self, exercise: str) -> str:
        """Return the cells that define the names of the exercise, one after the other."""
        codes = [_code_of(self.namespace.get(name), "return") for name in find(exercise).entries]
        files = dict.fromkeys(code.co_filename for code in codes if code is not None)
        return "\n".join(map(_source, files))

    def holds_code(self, path: str) -> Path | None:
        """Return the exercise of a cell's code as a path, such as `attention`, or None."""
        if not any(mark in path for mark in _CELL):
            return None
        return Path(_exercise_in(_source(path)))

    def assignment(self, exercise: str, entry: str, name: str) -> Place | None:
        """None: cells are named by what they define."""
        del exercise, entry, name
        return None

    def line(self, exercise: str, number: int, inside: str) -> Place:
        """Return a line of the text that `source` gives of an exercise."""
        text = source_lines(self.source(exercise))[number - 1].strip()
        return Place(f"cell of {exercise}", 0, text, inside)

    def place_at(self, file: str, number: int, inside: str) -> Place:
        """Return a line of a cell that runs now."""
        return _place(file, number, inside)

    def syntax_place(self, error: SyntaxError) -> tuple[Path, Place] | None:
        """None: a cell that Python cannot read defines nothing that could be tested."""
        del error
        return None

    def answer(
        self,
        exercise: str,
        entry: str,
        points_at: str,
        calls: Sequence[str] = (),
        part: str = "",
        ran: Collection[int] = (),
    ) -> Place | None:
        """Return the relevant line of `entry`: its only `return`, its `__init__` or its `def`."""
        del exercise, calls, part, ran
        code = _code_of(self.namespace.get(entry), points_at)
        if code is None or self.holds_code(code.co_filename) is None:
            return None
        line = code.co_firstlineno
        if points_at == "return":
            line = _only_return(_source(code.co_filename), line) or line
        return _place(code.co_filename, line, code.co_qualname)


def _place(file: str, line: int, inside: str) -> Place:
    label = f"cell of {_exercise_in(_source(file)) or 'your notebook'}"
    text = shown(linecache.getlines(file), line)
    return Place(f"{label}, line {line}", 0, text, "" if inside == "<module>" else inside)


def _source(file: str) -> str:
    return "".join(linecache.getlines(file))


def _exercise_in(source: str) -> str:
    """Return the exercise whose names a cell defines, or ""."""
    defined = {getattr(node, "name", "") for node in parsed(source).body}
    exercises = [name.name for name in EXERCISES if defined & set(name.entries)]
    return exercises[0] if exercises else ""


def _code_of(value: Any, points_at: str) -> CodeType | None:
    if isinstance(value, type):
        value = vars(value).get("forward" if points_at == "return" else "__init__")
    code = getattr(value, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _only_return(source: str, first: int) -> int | None:
    """Return the line of the one `return` in the function that begins at line `first`."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef):
            begins = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if begins == first:
                lines = [inner.lineno for inner in ast.walk(node) if isinstance(inner, ast.Return)]
                return lines[0] if len(lines) == 1 else None
    return None
