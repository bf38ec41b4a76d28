"""Runs the instructor's own tests in a notebook, in the jail, after the student's cells.

They run in the student's interpreter, as in any kernel, and what they prove is worth as much: they
call the student's functions and compare the student's objects. What a notebook can replace
(Python's builtins, functions of libraries, the notebook's imports) is put back before each
statement. A test comes to the process statement by statement, when the cells above it have run, and
its success is the reply to the last one. Who forges that reply from inside the interpreter gets the
points of that test, and nothing else: files, other students and the kit's exercises are out of
reach.
"""

from __future__ import annotations

import ast
import builtins
import marshal
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from IPython.core.inputtransformer2 import TransformerManager

from grader.grading.student_process import StudentProcess
from grader.remote.budget import Budget
from grader.remote.channel import Times
from grader.remote.session import ForbiddenUse, Lost, Malformed, StudentError, clean
from grader.sandbox.host import Host

SECONDS, IDLE = 120.0, 20.0
MAX_DEATHS = 2
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


@dataclass(frozen=True)
class OwnTest:
    """A graded test of the instructor's: name, code, how many cells stand above it, points."""

    name: str
    source: str
    above: int
    worth: float


@dataclass(frozen=True)
class Outcome:
    """The result of a test.

    `failure` says why it failed, "" if it did not. The points are all or none, or the number that
    its last line gave, within 0 and what it is worth. `replaced` names what of Python or a library
    the notebook had replaced.
    """

    points: float
    failure: str = ""
    replaced: tuple[str, ...] = ()


def run(
    cells: Sequence[str | None],
    tests: Sequence[OwnTest],
    released: Iterable[str],
    host: Host,
    times: Times | None = None,
) -> dict[str, Outcome]:
    """Run the tests of a notebook, in their order, and return what each came to.

    `cells` are the sources of the code cells, None where nothing is run. `released` are the code
    cells as they were released: what these import means that to a test. Raises `HostError`.
    """
    notebook = {
        "cells": cells,
        "tests": {test.name: test.above for test in tests},
        "answers": {},
        "entries": {test.name: [] for test in tests},
        "keep": {},
        "past_errors": False,
    }
    texts = {f"cell_{index}": source for index, source in enumerate(cells) if source is not None}
    budget = Budget("The notebook", SECONDS, IDLE)
    names = _Names(released)
    outcomes: dict[str, Outcome] = {}
    deaths = 0
    with StudentProcess(texts, (), host, budget, times, notebook) as process:
        for test in tests:
            if deaths >= MAX_DEATHS:
                outcomes[test.name] = Outcome(
                    0.0, "Not run, because the code hung or crashed earlier."
                )
                continue
            try:
                outcomes[test.name] = _outcome(test, names, process)
            except (Lost, ForbiddenUse) as lost:
                deaths += 1
                process.leave()
                outcomes[test.name] = Outcome(0.0, clean(str(lost)))
    return outcomes


def _outcome(test: OwnTest, names: _Names, process: StudentProcess) -> Outcome:
    """Raise `Lost`."""
    token = f"_{secrets.token_hex(8)}_"
    try:
        statements = names.compiled(test.source, token)
    except SyntaxError as error:
        return Outcome(0.0, f"The test itself is not valid Python: {error}")
    replaced: dict[str, None] = {}
    value: float | None = None
    try:
        channel = process.load(test.name, ())
        for statement in statements:
            value, names_replaced = _checked(
                channel.examine(names.imports(token), statement, token)
            )
            replaced.update(dict.fromkeys(names_replaced))
    except StudentError as error:
        return Outcome(0.0, str(error), tuple(replaced))
    return Outcome(_points(value, test.worth), "", tuple(replaced))


def _checked(reply: object) -> tuple[float | None, list[str]]:
    """Return what came of a statement, checked before it is used. Raises `Malformed`."""
    if type(reply) is not tuple or len(reply) != 2:
        raise Malformed
    value, replaced = reply
    if type(value) not in (float, type(None)) or type(replaced) is not list:
        raise Malformed
    if any(type(name) is not str for name in replaced):
        raise Malformed
    return value, [clean(name, 100) for name in replaced[:20]]


class _Names:
    """The meaning of a test's names, whatever the student's notebook assigned to them.

    Builtins and what the released notebook imports stay themselves, unless a released cell gives
    such a name a meaning of its own: then it is the student's to write.
    """

    def __init__(self, released: Iterable[str]) -> None:
        trees = [tree for source in released if (tree := _tree(source)) is not None]
        self._imports: dict[str, ast.stmt] = {}
        written: set[str] = set()
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._imports.update(_bound(node))
                else:
                    written |= _written(node)
        for name in written & self._imports.keys():
            del self._imports[name]
        self._kept = (set(dir(builtins)) | self._imports.keys()) - written - {"__builtins__"}

    def compiled(self, source: str, token: str) -> list[bytes]:
        """Return the statements of a test as code, the last as an expression if it is one.

        Raises `SyntaxError`.
        """
        tree = ast.parse(TransformerManager().transform_cell(source))
        own = {name for node in ast.walk(tree) for name in _written(node)}
        own |= {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in _bound(node)
        }
        _Renamed(self._kept - own, token).visit(tree)
        ast.fix_missing_locations(tree)
        made = []
        for node in tree.body:
            part = (
                ast.Expression(node.value) if isinstance(node, ast.Expr) else ast.Module([node], [])
            )
            mode = "eval" if isinstance(node, ast.Expr) else "exec"
            code = compile(part, "<test>", mode, _FLAGS, dont_inherit=True)
            made.append(marshal.dumps(code))
        return made

    def imports(self, token: str) -> list[bytes]:
        """Return code that imports what the released notebook imports, under the token's names."""
        made = []
        for name, node in self._imports.items():
            if isinstance(node, ast.ImportFrom):
                (alias,) = node.names
                text = f"from {node.module} import {alias.name} as {token}{name}"
            else:
                assert isinstance(node, ast.Import)
                (alias,) = node.names
                text = f"import {alias.name} as {token}{name}"
                if alias.asname is None:
                    text = f"import {alias.name}\nimport {name} as {token}{name}"
            made.append(marshal.dumps(compile(text, "<imports>", "exec", dont_inherit=True)))
        return made


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: set[str], token: str) -> None:
        self.names, self.token = names, token

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Return a name that is kept, as it is known under the token."""
        if node.id in self.names and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(self.token + node.id, node.ctx), node)
        return node


def _tree(source: str) -> ast.Module | None:
    try:
        tree: ast.Module = ast.parse(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return tree


def _bound(node: ast.Import | ast.ImportFrom) -> Mapping[str, ast.stmt]:
    """Return the names that an import binds, each with an import of its own, but not the kit's."""
    if isinstance(node, ast.ImportFrom):
        if node.level or (node.module or "").partition(".")[0] in ("exercises", "__future__"):
            return {}
        return {
            alias.asname or alias.name: ast.ImportFrom(node.module, [alias], 0)
            for alias in node.names
            if alias.name != "*"
        }
    return {
        alias.asname or alias.name.partition(".")[0]: ast.Import([alias]) for alias in node.names
    }


def _written(node: ast.AST) -> set[str]:
    """Return the names that a node binds, other than by an import."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        return {node.id}
    return {node.arg} if isinstance(node, ast.arg) else set()


def _points(value: float | None, worth: float) -> float:
    if value is None:
        return worth
    return 0.0 if math.isnan(value) else min(max(value, 0.0), worth)
