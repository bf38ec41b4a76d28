"""Gathers, for every exercise, the code that belongs to it from all cells of a notebook.

A notebook is one namespace: a helper may stand in any cell, and a cell may hold anything besides
the answer. The judge wants one module an exercise. So the definitions of the exercise's own names
are taken, then the definitions of what these use, and so on. What no definition needs is left
behind: prints, plots, training loops. What the exercise needs of the others is imported, which
makes it the reference's, so that a mistake costs once.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from grader import curriculum
from grader.curriculum import stubs
from grader.submission.cells import POINTS, Cell
from grader.submission.magics import neutral, parsed
from grader.submission.names import Names, is_definition, names_of

_BUILTINS = frozenset(dir(builtins))
_STAND_INS = {
    "get_ipython": "def get_ipython(): return None",
    "display": "def display(*objects, **options): return None",
}
_AWAIT = """def _awaited(awaitable):
    import asyncio
    async def main(): return await awaitable
    return asyncio.run(main())"""


@dataclass(frozen=True)
class Pieces:
    """The code of each exercise, and where each of its lines stands in the notebook.

    `places` has one entry a line, such as "cell of attention, line 3", or "" for a line of ours.
    """

    sources: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Statement:
    cell: int
    line: int
    text: str
    node: ast.stmt
    names: Names


@dataclass(frozen=True)
class _Code:
    """One code cell: its statements, or none where it is no Python."""

    index: int
    source: str
    grade_id: str
    statements: tuple[_Statement, ...]
    broken: bool

    @cached_property
    def binds(self) -> frozenset[str]:
        """All names that its statements bind."""
        return frozenset().union(*(one.names.binds for one in self.statements))


def gather(cells: Sequence[Cell]) -> Pieces:
    """The code of every exercise that the notebook holds anything of."""
    book = _Book(cells)
    pieces = Pieces()
    for name in curriculum.NAMES:
        try:
            found = book.exercise(name)
        except RecursionError:
            found = "raise RecursionError('code as deeply nested as this is not read')\n", ()
        if found is not None:
            pieces.sources[name], pieces.places[name] = found
    return pieces


class _Book:
    """The code cells of a notebook, and who defines what in them."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.ends = {cell.grade_id: index for index, cell in enumerate(cells)}
        self.cells = [
            _code(index, cell)
            for index, cell in enumerate(cells)
            if cell.kind == "code" and not _is_test(cell)
        ]
        self.statements = [one for cell in self.cells for one in cell.statements]
        self.binding: dict[str, list[_Statement]] = {}
        for one in self.statements:
            for name in one.names.binds:
                self.binding.setdefault(name, []).append(one)
        self.labels = {cell.index: _label(cell) for cell in self.cells}

    def exercise(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The module of an exercise and the places of its lines; None if there is nothing of it."""
        entries = curriculum.find(name).entries
        own = self._own_cells(name)
        chosen = {entry: self._entry(name, entry, own) for entry in entries}
        answers = [one for group in chosen.values() for one in group]
        if not answers or all(map(_is_stub, answers)):
            broken = self._broken(name)
            if broken is not None:
                lines = broken.source.split("\n")
                label = f"cell of {name}"
                return broken.source, tuple(f"{label}, line {i + 1}" for i in range(len(lines)))
        if not answers:
            return None
        if _as_handed_out(name, answers):
            return _handed_out(name), ()
        return _Module(self, name, own, chosen).written()

    def _own_cells(self, name: str) -> list[_Code]:
        """The cells of an exercise: those that define its names, first of all the one tagged so."""
        entries = set(curriculum.find(name).entries)
        defining = [cell for cell in self.cells if cell.binds & entries]
        return [cell for cell in defining if cell.grade_id == name] or [
            cell for cell in defining if cell.grade_id not in curriculum.NAMES
        ]

    def _entry(self, name: str, entry: str, own: Sequence[_Code]) -> list[_Statement]:
        """What defines one of the exercise's names, as it stood when its tests were run."""
        indices = {cell.index for cell in own}
        end = self.ends.get(name + POINTS, -1)
        everywhere = [
            one
            for one in self.binding.get(entry, ())
            if not isinstance(one.node, (ast.Import, ast.ImportFrom))
        ]
        in_others = {
            cell.index
            for cell in self.cells
            if cell.grade_id in curriculum.NAMES and cell.index not in indices
        }
        outside = [one for one in everywhere if one.cell not in in_others]
        before = [one for one in outside if one.cell in indices or one.cell < end]
        for tier in (before, outside, everywhere):
            written = [one for one in tier if not _is_stub(one)]
            if any(isinstance(one.node, _DEFINITIONS) or _assigns(one, entry) for one in written):
                return written
        return before or outside or everywhere

    def helpers(self, helper: str, own: Sequence[_Code]) -> list[_Statement]:
        """What defines another name: in the exercise's own cells, else before, else after them."""
        binding = self.binding.get(helper, [])
        indices = {cell.index for cell in own}
        last = max(indices, default=-1)
        for tier in (
            [one for one in binding if one.cell in indices],
            [one for one in binding if one.cell < last],
        ):
            if tier:
                return tier
        return binding

    def _broken(self, name: str) -> _Code | None:
        """A cell of the exercise that is no Python."""
        entries = "|".join(map(re.escape, curriculum.find(name).entries))
        pattern = re.compile(rf"^[ \t]*(?:def|class)[ \t]+(?:{entries})\b", re.MULTILINE)
        broken = [cell for cell in self.cells if cell.broken]
        defining = [cell for cell in broken if pattern.search(cell.source)]
        tagged = [cell for cell in broken if cell.grade_id == name]
        return next(iter([*reversed(defining), *reversed(tagged)]), None)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class _Module:
    """Puts the module of one exercise together, line by line."""

    def __init__(
        self, book: _Book, name: str, own: Sequence[_Code], chosen: dict[str, list[_Statement]]
    ) -> None:
        self.book = book
        self.own = own
        self.given = {
            entry: need
            for need in curriculum.closure(name)
            for entry in curriculum.find(need).entries
        }
        self.definers: dict[str, list[_Statement]] = dict(chosen)
        self.imports: dict[str, str] = {}
        self.unknown: set[str] = set()
        self.lines: list[str] = []
        self.places: list[str] = []
        self.done: set[int] = set()
        self.under_way: set[int] = set()

    def written(self) -> tuple[str, tuple[str, ...]]:
        """The module's text, and the place of each of its lines."""
        included = self._included()
        for one in included:
            self._write(one)
        head = [
            *self._futures(),
            *(f"from exercises.{need} import {entry}" for entry, need in self.imports.items()),
            *(text for name, text in _STAND_INS.items() if name in self.unknown),
        ]
        if any("_awaited(" in line for line in self.lines):
            head += _AWAIT.split("\n")
        if self.unknown - _STAND_INS.keys():
            head += [one.text for one in self.book.statements if _is_star(one.node)]
        head = [line for text in head for line in text.split("\n")]
        source = "\n".join([*head, *self.lines]) + "\n"
        return source, ("",) * len(head) + tuple(self.places)

    def _included(self) -> list[_Statement]:
        """All statements that the chosen ones need, in the order of the notebook."""
        found: dict[int, _Statement] = {}
        waiting = [one for group in self.definers.values() for one in group]
        while waiting:
            one = waiting.pop()
            if id(one) in found:
                continue
            found[id(one)] = one
            for used in one.names.uses:
                if used not in self.definers:
                    self.definers[used] = self._definers(used)
                waiting += self.definers[used]
        return sorted(found.values(), key=lambda one: (one.cell, one.line))

    def _definers(self, name: str) -> list[_Statement]:
        binding = self.book.helpers(name, self.own)
        in_own = {cell.index for cell in self.own}
        if name in self.given and not any(one.cell in in_own for one in binding):
            self.imports[name] = self.given[name]
            return []
        if not binding and name not in _BUILTINS:
            self.unknown.add(name)
        return binding

    def _write(self, one: _Statement) -> None:
        """Writes a statement after those that must have run before it."""
        if id(one) in self.done or id(one) in self.under_way:
            return
        self.under_way.add(id(one))
        for name in sorted(one.names.at_once):
            definers = self.definers.get(name, [])
            if not any(id(other) in self.done for other in definers):
                for other in definers:
                    self._write(other)
        self.under_way.discard(id(one))
        self.done.add(id(one))
        label = self.book.labels[one.cell]
        for offset, line in enumerate(one.text.split("\n")):
            self.lines.append(line)
            self.places.append(f"{label}, line {one.line + offset}")

    def _futures(self) -> list[str]:
        return [
            one.text
            for one in self.book.statements
            if isinstance(one.node, ast.ImportFrom) and one.node.module == "__future__"
        ]


def _label(cell: _Code) -> str:
    """How a message names a cell: by the exercise or the first name that it defines."""
    for exercise in curriculum.EXERCISES:
        if cell.binds & set(exercise.entries):
            return f"cell of {exercise.name}"
    for one in cell.statements:
        if isinstance(one.node, _DEFINITIONS):
            return f"cell of {one.node.name}"
    return f"cell {cell.index + 1} of the notebook"


def _is_test(cell: Cell) -> bool:
    return cell.grade_id.endswith(POINTS) or cell.source.lstrip().startswith("%%check")


def _code(index: int, cell: Cell) -> _Code:
    source = neutral(cell.source)
    tree = parsed(source)
    if tree is None:
        return _Code(index, source, cell.grade_id, (), broken=True)
    try:
        statements = tuple(_statements(index, source, tree))
    except RecursionError:
        return _Code(index, source, cell.grade_id, (), broken=True)
    return _Code(index, source, cell.grade_id, statements, broken=False)


def _statements(index: int, source: str, tree: ast.Module) -> list[_Statement]:
    lines = source.split("\n")
    found = []
    for number, node in enumerate(tree.body):
        if not is_definition(node):
            continue
        around = tree.body[max(0, number - 1) : number + 2]
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        assert node.end_lineno is not None
        if sum(_shares_a_line(node, other) for other in around) > 1:
            text = ast.unparse(node)
        else:
            text = _without_await("\n".join(lines[first - 1 : node.end_lineno]), node, first)
        found.append(_Statement(index, first, text, node, names_of(node)))
    return found


def _shares_a_line(one: ast.stmt, other: ast.stmt) -> bool:
    assert one.end_lineno is not None
    assert other.end_lineno is not None
    return one.lineno <= other.end_lineno and other.lineno <= one.end_lineno


def _without_await(text: str, node: ast.stmt, first: int) -> str:
    """Top-level `await x`, which only a notebook allows, as a call."""
    lines = [line.encode() for line in text.split("\n")]
    for one in reversed(list(_top_level_awaits(node))):
        assert one.end_lineno is not None
        assert one.end_col_offset is not None
        last, end = one.end_lineno - first, one.end_col_offset
        lines[last] = lines[last][:end] + b")" + lines[last][end:]
        line, start = one.lineno - first, one.col_offset
        rest = lines[line][start:].removeprefix(b"await")
        lines[line] = lines[line][:start] + b"_awaited(" + rest.lstrip(b" ")
    return b"\n".join(lines).decode()


def _top_level_awaits(node: ast.AST) -> list[ast.Await]:
    found = [node] if isinstance(node, ast.Await) else []
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            found += _top_level_awaits(child)
    return found


def _is_stub(one: _Statement) -> bool:
    """Whether a definition, or a part of it, is still to be written."""
    return any(
        isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node)
        for node in ast.walk(one.node)
    )


def _assigns(one: _Statement, name: str) -> bool:
    return isinstance(one.node, (ast.Assign, ast.AnnAssign)) and name in one.names.binds


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _as_handed_out(name: str, answers: Sequence[_Statement]) -> bool:
    """Whether the definitions are those of the stub, whatever its exceptions say."""
    return all(map(_is_stub, answers)) and all(
        _shape(one.node) in _handed_out_shapes(name) for one in answers
    )


@cache
def _handed_out_shapes(name: str) -> frozenset[str]:
    return frozenset(_shape(node) for node in ast.parse(_handed_out(name)).body)


@cache
def _handed_out(name: str) -> str:
    return stubs.stub(stubs.solution(name), name)


def _shape(node: ast.stmt) -> str:
    copy = ast.parse(ast.unparse(node))
    for one in ast.walk(copy):
        if isinstance(one, ast.Raise):
            one.exc = None
    return ast.dump(copy)
