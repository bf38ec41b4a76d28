"""Slips of the pen, as changes of one node of a syntax tree.

The scorecard breaks right answers with them, and the search for a wrong line undoes them in a
student's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

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

Change = Callable[[ast.AST], None]


def slips(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Yield the ways to break one node: what is done, and how to do it to a copy of the node."""
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
        yield from arguments(node)
    if isinstance(node, (ast.Tuple, ast.List)):
        for index in range(len(node.elts) - 1):
            yield f"items {index} and {index + 1} swapped", _exchange("elts", index)
    if isinstance(node, ast.For):
        yield "loop body skipped", _set("body", [ast.Pass()])


def arguments(node: ast.Call) -> Iterator[tuple[str, Change]]:
    """Yield the call with an argument dropped, or two exchanged."""
    for index in range(len(node.args)):
        yield f"argument {index} dropped", _drop("args", index)
    for index in range(len(node.args) - 1):
        yield f"arguments {index} and {index + 1} swapped", _exchange("args", index)
    for index, keyword in enumerate(node.keywords):
        yield f"{keyword.arg}= dropped", _drop("keywords", index)


def _constants(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} → {not value}", _set("value", not value)
    elif isinstance(value, int):
        for other in (value + 1, value - 1):
            yield f"{value} → {other}", _set("value", other)
    elif isinstance(value, float):
        for real in (value * 2, value + 1):
            yield f"{value} → {real}", _set("value", real)


def _set(field: str, value: object) -> Change:
    return lambda node: setattr(node, field, value)


def _swap(left: str, right: str) -> Change:
    def change(node: ast.AST) -> None:
        first, second = getattr(node, left), getattr(node, right)
        setattr(node, left, second)
        setattr(node, right, first)

    return change


def _drop(field: str, index: int) -> Change:
    return lambda node: getattr(node, field).pop(index)


def _exchange(field: str, index: int) -> Change:
    def change(node: ast.AST) -> None:
        items = getattr(node, field)
        items[index], items[index + 1] = items[index + 1], items[index]

    return change
