"""Small edits of a source: what a slip of the pen makes of it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grader.curriculum import stubs

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}

Edit = Callable[[ast.AST], None]


def edits(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    """The ways to break one node: what is done, and how to do it to a copy of the node."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        other = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} → {other.__name__}", _set("op", other())
    if isinstance(node, ast.BinOp):
        yield "operands swapped", _swap("left", "right")
    if isinstance(node, ast.UnaryOp):
        yield f"{type(node.op).__name__} dropped", _set("op", ast.UAdd())
    if isinstance(node, ast.Compare):
        for comparison in COMPARISONS[type(node.ops[0])]:
            yield f"compared by {comparison.__name__}", _set("ops", [comparison()])
    if isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and ↔ or", _set("op", other_op)
    if isinstance(node, ast.IfExp):
        yield "branches swapped", _swap("body", "orelse")
    if isinstance(node, ast.Constant):
        yield from _constants(node)
    if isinstance(node, ast.Call):
        for index in range(len(node.args)):
            yield f"argument {index} dropped", _drop("args", index)
        for index in range(len(node.args) - 1):
            yield f"arguments {index} and {index + 1} swapped", _exchange("args", index)
        for index, keyword in enumerate(node.keywords):
            yield f"{keyword.arg}= dropped", _drop("keywords", index)
    if isinstance(node, (ast.Tuple, ast.List)):
        for index in range(len(node.elts) - 1):
            yield f"items {index} and {index + 1} swapped", _exchange("elts", index)
    if isinstance(node, ast.For):
        yield "loop body skipped", _set("body", [ast.Pass()])


def _constants(node: ast.Constant) -> Iterator[tuple[str, Edit]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} → {not value}", _set("value", not value)
    elif isinstance(value, int):
        for other in (value + 1, value - 1):
            yield f"{value} → {other}", _set("value", other)
    elif isinstance(value, float):
        for real in (value * 2, value + 1):
            yield f"{value} → {real}", _set("value", real)


def _set(field: str, value: object) -> Edit:
    return lambda node: setattr(node, field, value)


def _swap(left: str, right: str) -> Edit:
    def edit(node: ast.AST) -> None:
        first, second = getattr(node, left), getattr(node, right)
        setattr(node, left, second)
        setattr(node, right, first)

    return edit


def _drop(field: str, index: int) -> Edit:
    return lambda node: getattr(node, field).pop(index)


def _exchange(field: str, index: int) -> Edit:
    def edit(node: ast.AST) -> None:
        items = getattr(node, field)
        items[index], items[index + 1] = items[index + 1], items[index]

    return edit


@dataclass(frozen=True)
class Mutant:
    """A source with one small edit: the line, what was done there, the edited source."""

    line: int
    what: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a solution; only code between its marks and default arguments are touched."""
    tree = ast.parse(source)
    lines = source.splitlines()
    inside: set[int] = set()
    marked = False
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
        for what, edit in edits(node):
            changed = copy.deepcopy(tree)
            edit(list(ast.walk(changed))[index])
            yield Mutant(line, what, _text(changed))
        for field, body in ast.iter_fields(node):
            if field in ("body", "orelse") and isinstance(body, list):
                yield from _without_statements(tree, index, field, body)
    for index, node in enumerate(nodes):
        if isinstance(node, ast.FunctionDef):
            yield from _without_statements(tree, index, "body", node.body, inside)


def _without_statements(
    tree: ast.AST, index: int, field: str, body: list[ast.stmt], inside: set[int] | None = None
) -> Iterator[Mutant]:
    for position, statement in enumerate(body):
        if inside is not None and statement.lineno not in inside:
            continue
        changed = copy.deepcopy(tree)
        getattr(list(ast.walk(changed))[index], field)[position] = ast.Pass()
        yield Mutant(statement.lineno, "statement dropped", _text(changed))


def _text(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))
