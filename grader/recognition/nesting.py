"""Nesting: which step of a source works on the result of which.

`norm(x + dropout(y))` has the dropout inside the sum and the sum inside the norm, in one line or in
three. Two mistakes with the same replies may differ only in this.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator

from grader.recognition.likeness import parsed

# Students name their parts freely: `dropout_layer`, `drop1`, `norm2`.
_KINDS = (("drop", "dropout"), ("norm", "norm"), ("softmax", "softmax"))

_LARGEST = 200  # nodes: longer expressions are not put into others

Step = tuple[str, str]


def steps(source: str) -> frozenset[Step]:
    """Return the pairs of steps of which the second gives the first what it works on."""
    try:
        return frozenset(_steps(parsed(source)))
    except RecursionError:
        return frozenset()


def _steps(tree: ast.Module) -> set[Step]:
    steps: set[Step] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            values: dict[str, ast.expr] = {}
            for statement in _in_order(function.body):
                value = statement.value
                if value is None:
                    continue
                whole = _Inlined(values).visit(copy.deepcopy(value))
                steps.update(_pairs(whole, ""))
                target = statement.targets[0] if isinstance(statement, ast.Assign) else None
                if isinstance(target, ast.Name):
                    is_step = isinstance(value, (ast.Call, ast.BinOp)) and _size(whole) <= _LARGEST
                    values[target.id] = whole if is_step else ast.Name(target.id)
    return steps


def _size(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))


def _in_order(body: list[ast.stmt]) -> Iterator[ast.Assign | ast.Return | ast.Expr]:
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.Return, ast.Expr)):
            yield statement
        for block in ("body", "orelse"):
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                yield from _in_order(getattr(statement, block, []))


class _Inlined(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def _pairs(node: ast.AST, outer: str) -> Iterator[Step]:
    name = _step(node)
    if name and outer:
        yield outer, name
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Call) and child is node.func):
            yield from _pairs(child, name or outer)
        elif isinstance(child, ast.Attribute):
            yield from _pairs(child.value, name or outer)


def _step(node: ast.AST) -> str:
    """Return what a call or a sum is, in the words that all sources share; "" for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return "+"
    if not isinstance(node, ast.Call):
        return ""
    called = ast.unparse(node.func)
    last = re.sub(r"\[[^\]]*\]", "", called).rpartition(".")[2].lower()
    return next((kind for part, kind in _KINDS if part in last), last)
