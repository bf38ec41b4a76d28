"""The folder that a student works in: `<exercise>.py` and `test_<exercise>.py`, read, not run."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import traceback as tracebacks
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import FrameType, TracebackType

from grader.board.statements import fills, made, shown
from grader.curriculum import NAMES, CurriculumError
from grader.curriculum.assignment import assigned, limit_of_hints
from grader.curriculum.hint_limit import HintLimit
from grader.curriculum.stubs import HANDED_OUT as HANDED_OUT_FILES
from grader.curriculum.stubs import is_untouched, tests_as_handed_out
from grader.feedback.finding import Place
from grader.recognition.likeness import parsed

# How the file names of modules end that the kit puts in the place of a student's.
HANDED_OUT = "as it is handed out>"


@dataclass(frozen=True)
class PublicTest:
    """One public test as its file shows it: `title` is the first line of its docstring.

    `text` is the rest of it on one line, which explains the expected numbers. `uses` are the names
    in the test and in the functions of its file that it uses, `calls` the methods that it calls,
    `words` all that its code and texts consist of.
    """

    name: str
    title: str
    line: int
    uses: tuple[str, ...] = field(default=(), repr=False)
    calls: tuple[str, ...] = field(default=(), repr=False)
    text: str = field(default="", repr=False)
    words: frozenset[str] = field(default=frozenset(), repr=False)


class Workspace:
    """Looks things up in the workspace at `folder`; files are shown relative to `seen_from`."""

    def __init__(self, folder: Path, seen_from: Path) -> None:
        """Remember the two folders; nothing is read yet."""
        self.folder = folder.resolve()
        self.seen_from = seen_from.resolve()

    @cached_property
    def assigned(self) -> tuple[str, ...]:
        """The assigned exercises. Raises `CurriculumError`."""
        return assigned(self.folder)

    @property
    def limit_of_hints(self) -> HintLimit:
        """How far hints go. Raises `CurriculumError`."""
        return limit_of_hints(self.folder)

    def is_handed_out(self, exercise: str) -> bool:
        """Return whether this exercise is neither assigned nor begun.

        Others then use the kit's form of it: solved, or, where the folder has only its stub, in
        the form that `stand_ins` puts there.
        """
        return exercise not in self.assigned and (
            not self.test_path(exercise).exists() or self.is_untouched(exercise)
        )

    def is_untouched(self, exercise: str) -> bool:
        """Return whether the file is a stub that nobody has edited."""
        try:
            return is_untouched(self.code_path(exercise).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return False

    def unwritten(self, exercise: str) -> tuple[str, ...]:
        """Return the functions that still raise NotImplementedError, in the order of the file."""
        return tuple(_unwritten(self._tree(exercise).body, ""))

    def exercise_of(self, test_path: Path) -> str | None:
        """Return the exercise that a test file of this workspace tests, or None."""
        return _exercise_of(self.folder, test_path)

    def code_path(self, exercise: str) -> Path:
        """Return the file with the student's code."""
        return self.folder / f"{exercise}.py"

    def test_path(self, exercise: str) -> Path:
        """Return the file with the public tests."""
        return self.folder / f"test_{exercise}.py"

    def source(self, exercise: str) -> str:
        """Return the text of the student's code; "" if there is none to be read."""
        try:
            return self.code_path(exercise).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def shown(self, path: Path) -> str:
        """Return a path as the student would type it."""
        try:
            return path.resolve().relative_to(self.seen_from).as_posix()
        except ValueError:
            return str(path)

    def tests(self, exercise: str) -> dict[str, PublicTest]:
        """Return the public tests of an exercise by name, in the order of the file."""
        return {test.name: test for test in _tests_in(self.test_path(exercise))}

    def has_changed_tests(self, exercise: str) -> bool:
        """Return whether the tests that an edition handed out are no longer all there.

        Comments, layout and tests that were added don't count.
        """
        if not HANDED_OUT_FILES.is_dir():
            return False
        try:
            original = tests_as_handed_out(exercise)
        except CurriculumError:
            return False
        try:
            present = self.test_path(exercise).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return True
        return not _statements(original).items() <= _statements(present).items()

    def reread(self) -> None:
        """Forget what the test files held."""
        _tests_in.cache_clear()

    def holds_code(self, path: str) -> Path | None:
        """`path` resolved, if it is code on this workspace and no test; otherwise None."""
        return _code_on(self.folder, path)

    def places(self, traceback: TracebackType | None) -> Iterator[tuple[Path, Place]]:
        """Yield the lines of a traceback that are the student's code, the outermost first."""
        for path, frame, line in self.frames(traceback):
            code = frame.f_code
            yield path, self.place_at(code.co_filename, line, code.co_qualname)

    def frames(self, traceback: TracebackType | None) -> Iterator[tuple[Path, FrameType, int]]:
        """Yield the frames of a traceback that run the student's code, each with its line."""
        for frame, line in tracebacks.walk_tb(traceback):
            path = self.holds_code(frame.f_code.co_filename)
            if path is not None:
                yield path, frame, line

    def innermost(self) -> tuple[Path, FrameType] | None:
        """Return the student's code that runs now and its frame; None if the kit's form of it does.

        Whatever of torch's it called may be running in between.
        """
        for frame, _ in tracebacks.walk_stack(sys._getframe(1)):
            file = frame.f_code.co_filename
            path = self.holds_code(file)
            if path is not None:
                return path, frame
            if file.endswith(HANDED_OUT):
                break
        return None

    def syntax_place(self, error: SyntaxError) -> tuple[Path, Place] | None:
        """Return the line that Python could not read, if it is on this workspace."""
        path = self.holds_code(error.filename or "")
        if path is None:
            return None
        return path, Place(self.shown(path), error.lineno or 0, (error.text or "").strip())

    def answer(
        self,
        exercise: str,
        entry: str,
        points_at: str,
        calls: Sequence[str] = (),
        part: str = "",
        ran: Collection[int] = (),
    ) -> Place | None:
        """Return the relevant line of `entry`: its only `return` or `raise`, `__init__` or `def`.

        `points_at` is "return", "__init__", "raise" or "def". In a class, the `return` is that of
        the first of the methods `calls` that it defines. Of several, the one among the lines that
        `ran` is shown, if these are known, or none; of several conditions of a `raise`, the `def`
        line. Where a variable is returned, or a dictionary of which the `part` with this key is
        meant, the line is the one that makes it. None if the file defines no such name.
        """
        path = self.code_path(exercise)
        definition = _definition(parsed(self.source(exercise)).body, entry)
        if definition is None:
            return None
        inside = entry
        if points_at == "raise":
            refusals = list(_refusals(definition, entry))
            return self._place(
                path, *(refusals[0] if len(refusals) == 1 else (definition.lineno, entry))
            )
        if isinstance(definition, ast.ClassDef) and points_at != "def":
            methods = calls if points_at == "return" else (points_at,)
            defined = (_definition(definition.body, method) for method in methods)
            inner = next((method for method in defined if method is not None), None)
            if inner is not None:
                definition, inside = inner, f"{entry}.{inner.name}"
        line = definition.lineno
        if points_at == "return" and not isinstance(definition, ast.ClassDef):
            returns = list(_returns(definition))
            reached = [node for node in returns if not ran or node.lineno in ran]
            if returns:  # 0: it is not known which
                line = made(definition, reached[0], part, ran) if len(reached) == 1 else 0
        return self._place(path, line, inside)

    def assignment(self, exercise: str, entry: str, name: str) -> Place | None:
        """Return the line of the class `entry` that assigns `self.NAME`; None if there is none.

        Where several do, as in `self.bias = None` and then `if bias: …`, one that assigns a value.
        """
        empty: Place | None = None
        path = self.code_path(exercise)
        definition = _definition(self._tree(exercise).body, entry)
        for node in ast.walk(definition) if definition is not None else ():
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(ast.unparse(target) == f"self.{name}" for target in targets):
                    place = self._place(path, node.lineno, f"{entry}.__init__")
                    if not isinstance(node.value, ast.Constant | None):
                        return place
                    empty = empty or place
        return empty

    def start(self, exercise: str, entry: str, name: str) -> Place | None:
        """Return the line that gives `self.NAME` of the class `entry` its first numbers.

        That is one that fills it, or the variable that it is made of; otherwise the assignment.
        """
        place = self.assignment(exercise, entry, name)
        definition = _definition(self._tree(exercise).body, entry)
        if place is None or not isinstance(definition, ast.ClassDef):
            return None
        filled = fills(definition, f"self.{name}", place.line)
        return self._place(self.code_path(exercise), filled, place.inside) if filled else place

    def use(self, exercise: str, name: str) -> Place | None:
        """Return the line that uses `self.NAME` outside of `__init__`, if it is a single one."""
        for owner in self._tree(exercise).body:
            if not isinstance(owner, ast.ClassDef):
                continue
            for method in owner.body:
                if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                    continue
                used = [n for n in ast.walk(method) if isinstance(n, ast.Attribute)]
                lines = {n.lineno for n in used if ast.unparse(n) == f"self.{name}"}
                if len(lines) == 1:
                    inside = f"{owner.name}.{method.name}"
                    return self._place(self.code_path(exercise), lines.pop(), inside)
        return None

    def line(self, exercise: str, number: int, inside: str) -> Place:
        """Return a line of the text that `source` gives of an exercise."""
        return self._place(self.code_path(exercise), number, inside)

    def place_at(self, file: str, number: int, inside: str) -> Place:
        """Return a line of the student's code that runs now."""
        return self._place(Path(file).resolve(), number, inside)

    def _tree(self, exercise: str) -> ast.Module:
        try:
            return parsed(self.code_path(exercise).read_bytes())
        except OSError:
            return parsed("")

    def _place(self, path: Path, line: int, inside: str) -> Place:
        source = shown(linecache.getlines(str(path)), line)
        return Place(self.shown(path), line, source, "" if inside == "<module>" else inside)


def _unwritten(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _unwritten(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            isinstance(statement, ast.Raise) and "NotImplementedError" in ast.dump(statement)
            for statement in node.body
        ):
            yield f"{prefix}{node.name}"


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definition(body: list[ast.stmt], name: str) -> _Definition | None:
    for node in body:
        if isinstance(node, _Definition) and node.name == name:
            return node
    return None


def _refusals(node: ast.AST, inside: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of the conditions on which a function or class raises, and what is around."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Definition):
            yield from _refusals(child, f"{inside}.{child.name}")
            continue
        body = child.body if isinstance(child, ast.If) else [child]
        if isinstance(child, ast.Assert | ast.If) and any(
            isinstance(part, ast.Raise | ast.Assert) for part in body
        ):
            yield child.lineno, inside
        yield from _refusals(child, inside)


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the return statements of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, (*_Definition.__args__, ast.Lambda)):
            yield from _returns(child)


@lru_cache(maxsize=64)
def _tests_in(path: Path) -> tuple[PublicTest, ...]:
    try:
        return public_tests(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def public_tests(source: str | bytes) -> tuple[PublicTest, ...]:
    """Return the public tests in the source of a test file, in its order.

    Raises `SyntaxError` or `ValueError` for what is no Python.
    """
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    called = {
        name: [
            call.func.attr
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        ]
        for name, node in functions.items()
    }
    tests = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            words = node.name.removeprefix("test_").replace("_", " ")
            title, _, text = (ast.get_docstring(node) or words).partition("\n")
            uses = dict.fromkeys(_names(node))
            for helper in [functions[name] for name in uses if name in functions]:
                uses |= dict.fromkeys(_names(helper))
            calls = dict.fromkeys(
                method for name in (node.name, *uses) for method in called.get(name, ())
            )
            place = (node.name, title, node.lineno)
            whole = frozenset(re.findall(r"\w+", ast.unparse(node)))
            tests.append(
                PublicTest(*place, tuple(uses), tuple(calls), " ".join(text.split()), whole)
            )
    return tuple(tests)


@lru_cache(maxsize=64)
def _statements(source: str) -> dict[str, str]:
    """Return what a file does, by the names that it defines; the last definition counts."""
    dumps = {node: ast.dump(node) for node in parsed(source).body}
    return {getattr(node, "name", dump): dump for node, dump in dumps.items()}


def _names(node: ast.AST) -> list[str]:
    return [name.id for name in ast.walk(node) if isinstance(name, ast.Name)]


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
