"""Which names a statement of a cell binds, and which it needs, now or when it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Imports = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Names:
    """The names of one statement.

    `binds` are those that it gives a value or changes, `uses` all that occur in it, `at_once`
    those of them that must be there when the statement runs: what stands in the body of a
    function may come later.
    """

    binds: frozenset[str]
    uses: frozenset[str]
    at_once: frozenset[str]


def names_of(node: ast.stmt) -> Names:
    """The names of a statement at the top of a cell."""
    uses = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    at_once = {one.id for one in _outside_functions(node) if isinstance(one, ast.Name)}
    return Names(frozenset(_bound(node)), frozenset(uses), frozenset(at_once))


def is_definition(node: ast.stmt) -> bool:
    """Whether a statement can define something. A call, a loop's work or a test does not."""
    if isinstance(node, ast.Expr):
        return _changed_by_setattr(node) is not None
    return not isinstance(
        node, (ast.For, ast.While, ast.AsyncFor, ast.AsyncWith, ast.Assert, ast.Delete, ast.Raise)
    )


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Expr):
        changed = _changed_by_setattr(node)
        if changed is not None:
            yield changed
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        # A decorator that is given a class usually adds to it: @add_to(LayerNorm).
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                yield from (one.id for one in decorator.args if isinstance(one, ast.Name))
        return
    for one in _outside_functions(node):
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield one.name
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, (ast.Attribute, ast.Subscript)) and isinstance(one.ctx, ast.Store):
            yield from _root(one)
        elif isinstance(one, _Imports):
            yield from (alias.asname or alias.name.split(".")[0] for alias in one.names)


def _changed_by_setattr(node: ast.Expr) -> str | None:
    call = node.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
        first = call.args[0]
        if call.func.id == "setattr" and isinstance(first, ast.Name):
            return first.id
    return None


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it that run when it runs: no bodies of functions."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        for name, value in ast.iter_fields(one):
            if isinstance(one, _Function) and name == "body":
                continue
            below = value if isinstance(value, list) else [value]
            waiting += [item for item in below if isinstance(item, ast.AST)]
