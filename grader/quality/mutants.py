"""Answers with a slip of the pen in them, one in each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.curriculum import stubs
from grader.edits.slips import slips


@dataclass(frozen=True)
class Mutant:
    """A source with one small edit: the line, what was done there, the edited source."""

    line: int
    what: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of an answer.

    Of a solution only the code between its marks, and default arguments, are touched.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    inside: set[int] = set()
    marked = stubs.BEGIN not in source
    for number, text in enumerate(lines, 1):
        marked = (marked or stubs.BEGIN in text) and stubs.END not in text
        if marked:
            inside.add(number)
    defaults = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.arguments)
        for default in (*node.defaults, *node.kw_defaults)
        if default
        for part in ast.walk(default)
    }
    nodes = list(ast.walk(tree))
    for index, node in enumerate(nodes):
        line = int(getattr(node, "lineno", 0))
        if line not in inside and id(node) not in defaults:
            continue
        for edit, change in slips(node):
            changed = ast.parse(source)
            change(list(ast.walk(changed))[index])
            yield Mutant(line, edit, _text(changed))
        for field, body in ast.iter_fields(node):
            if field in ("body", "orelse") and isinstance(body, list):
                yield from _without_statements(source, index, field, body)
    for index, node in enumerate(nodes):
        if isinstance(node, ast.FunctionDef):
            yield from _without_statements(source, index, "body", node.body, inside)


def _without_statements(
    source: str, index: int, field: str, body: list[ast.stmt], inside: set[int] | None = None
) -> Iterator[Mutant]:
    for position, statement in enumerate(body):
        if inside is not None and statement.lineno not in inside:
            continue
        changed = ast.parse(source)
        getattr(list(ast.walk(changed))[index], field)[position] = ast.Pass()
        yield Mutant(statement.lineno, "statement dropped", _text(changed))


def _text(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))
