"""The folder that a student works in: `<exercise>.py` and `test_<exercise>.py`, read, not run."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import TracebackType

from grader.curriculum import NAMES
from grader.curriculum.assignment import assigned
from grader.curriculum.stubs import is_untouched
from grader.feedback.finding import Place


@dataclass(frozen=True)
class PublicTest:
    """One public test as its file shows it: title is the first line of its docstring."""

    name: str
    title: str
    line: int
    uses: tuple[str, ...] = field(default=(), repr=False)


class Workspace:
    """Looks things up in the workspace at `folder`; files are shown relative to `seen_from`."""

    def __init__(self, folder: Path, seen_from: Path) -> None:
        """Remember the two folders; nothing is read yet."""
        self.folder = folder.resolve()
        self.seen_from = seen_from.resolve()

    @cached_property
    def assigned(self) -> tuple[str, ...]:
        """The exercises that are asked for. Raises `CurriculumError`."""
        return assigned(self.folder)

    def is_handed_out(self, exercise: str) -> bool:
        """Whether nobody asked for this exercise and nobody has begun it.

        Others then use it as it is handed out: solved, or, where the folder has only its stub, in
        the form that `stand_ins` puts there.
        """
        return exercise not in self.assigned and (
            not self.test_path(exercise).exists() or self.is_untouched(exercise)
        )

    def is_untouched(self, exercise: str) -> bool:
        """Whether the file is a stub that nobody has edited."""
        try:
            return is_untouched(self.code_path(exercise).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return False

    def exercise_of(self, test_path: Path) -> str | None:
        """The exercise that a test file of this workspace tests; None for every other file."""
        return _exercise_of(self.folder, test_path)

    def code_path(self, exercise: str) -> Path:
        """The file with the student's code."""
        return self.folder / f"{exercise}.py"

    def test_path(self, exercise: str) -> Path:
        """The file with the public tests."""
        return self.folder / f"test_{exercise}.py"

    def source(self, exercise: str) -> str:
        """The text of the student's code; "" if there is none to be read."""
        try:
            return self.code_path(exercise).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def shown(self, path: Path) -> str:
        """A path as the student would type it."""
        try:
            return path.resolve().relative_to(self.seen_from).as_posix()
        except ValueError:
            return str(path)

    def tests(self, exercise: str) -> dict[str, PublicTest]:
        """The public tests of an exercise by name, in the order of the file."""
        return {test.name: test for test in _tests_in(self.test_path(exercise))}

    def reread(self) -> None:
        """Forgets what the test files held."""
        _tests_in.cache_clear()

    def holds_code(self, path: str) -> Path | None:
        """`path` resolved, if it is code on this workspace and no test; otherwise None."""
        return _code_on(self.folder, path)

    def places(self, traceback: TracebackType | None) -> Iterator[tuple[Path, Place]]:
        """Those frames of a traceback that are the student's code, the outermost first."""
        while traceback is not None:
            code = traceback.tb_frame.f_code
            path = self.holds_code(code.co_filename)
            if path is not None:
                yield path, self._place(path, traceback.tb_lineno, code.co_qualname)
            traceback = traceback.tb_next

    def syntax_place(self, error: SyntaxError) -> tuple[Path, Place] | None:
        """The line that Python could not read, if it is on this workspace."""
        path = self.holds_code(error.filename or "")
        if path is None:
            return None
        return path, Place(self.shown(path), error.lineno or 0, (error.text or "").strip())

    def answer(self, exercise: str, entry: str, points_at: str) -> Place | None:
        """The line of `entry` to look at: its only `return`, its `__init__` or its beginning.

        `points_at` is "return", "__init__" or "def". None if the file defines no such name.
        """
        path = self.code_path(exercise)
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None
        found = _definition(tree.body, entry)
        if found is None:
            return None
        inside = entry
        if isinstance(found, ast.ClassDef) and points_at != "def":
            method = "forward" if points_at == "return" else points_at
            inner = _definition(found.body, method)
            if inner is not None:
                found, inside = inner, f"{entry}.{method}"
        line = found.lineno
        if points_at == "return" and not isinstance(found, ast.ClassDef):
            returns = list(_returns(found))
            line = returns[0].lineno if len(returns) == 1 else line
        return self._place(path, line, inside)

    def _place(self, path: Path, line: int, inside: str) -> Place:
        source = linecache.getline(str(path), line).strip()
        return Place(self.shown(path), line, source, "" if inside == "<module>" else inside)


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definition(body: list[ast.stmt], name: str) -> _Definition | None:
    for node in body:
        if isinstance(node, _Definition) and node.name == name:
            return node
    return None


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """The return statements of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, (*_Definition.__args__, ast.Lambda)):
            yield from _returns(child)


@lru_cache(maxsize=64)
def _tests_in(path: Path) -> tuple[PublicTest, ...]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    tests = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            words = node.name.removeprefix("test_").replace("_", " ")
            title = (ast.get_docstring(node) or words).splitlines()[0]
            uses = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
            tests.append(PublicTest(node.name, title, node.lineno, tuple(uses)))
    return tuple(tests)


@lru_cache(maxsize=1024)
def _exercise_of(folder: Path, test_path: Path) -> str | None:
    name = test_path.stem.removeprefix("test_")
    if test_path.name == f"test_{name}.py" and name in NAMES:
        return name if test_path.resolve().parent == folder else None
    return None


@lru_cache(maxsize=1024)
def _code_on(folder: Path, filename: str) -> Path | None:
    path = Path(filename)
    if path.suffix != ".py":
        return None
    path = path.resolve()
    is_test = path.name.startswith("test_") or path.name == "conftest.py"
    return path if path.is_relative_to(folder) and not is_test else None
