"""Which statement gave a variable what it holds, as far as that is sure.

    if mask is None:
        scores = query @ keys
    else:
        scores = (query @ keys) * mask
    return scores @ value              # which of the two lines gave it `scores`?

What an `if` asked is asked once more, where the answer cannot have changed since.
"""

from __future__ import annotations

import ast
from types import FrameType

from torch import Tensor, nn

_OF_SHAPE = ("dim", "ndim", "shape", "size")
# What the conditions of which the outcome can be told consist of.
_ASKS = (
    ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript, ast.Compare, ast.BoolOp,
    ast.UnaryOp, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


class _Something:
    """Stands for an object in a condition that asks whether it is None."""


def assigned(
    name: str, user: ast.stmt, function: ast.FunctionDef, frame: FrameType
) -> ast.Assign | None:
    """Return the statement from which `user` surely has the variable; None if that is not sure."""
    for block, position, is_loop in reversed(_path(function, user)):
        storing = [statement for statement in block[:position] if name in _stored(statement)]
        while storing:
            last = storing.pop()
            if not isinstance(last, ast.If):
                return last if isinstance(last, ast.Assign) else None
            branch = _branch(last, user, function, frame)
            if branch is None:
                return None
            storing += [statement for statement in branch if name in _stored(statement)]
        if is_loop and any(name in _stored(node) for node in block[position:]):
            return None
    return None


def is_kept(name: str, first: ast.stmt, last: ast.stmt, function: ast.FunctionDef) -> bool:
    """Return whether a variable surely holds the same in two statements."""
    in_one_block = _path(function, first)[-1][0] is _path(function, last)[-1][0]
    end = last.lineno if in_one_block else function.end_lineno or 0
    return not any(
        isinstance(node, ast.Name)
        and node.id == name
        and not isinstance(node.ctx, ast.Load)
        and first.lineno < node.lineno < end
        for node in ast.walk(function)
    )


def _branch(
    fork: ast.If, user: ast.stmt, function: ast.FunctionDef, frame: FrameType
) -> list[ast.stmt] | None:
    """Return the block of an `if` above `user` that was run; None if that cannot be told.

    It can where the condition only asks for None, truth values, whole numbers and the number and
    size of axes, and the variables in it hold the same since.
    """
    held: dict[str, object] = {"len": len}
    for node in ast.walk(fork.test):
        if isinstance(node, ast.Name) and node.id != "len":
            value = frame.f_locals.get(node.id, held)
            if value is held or not is_kept(node.id, fork, user, function):
                return None
            # Of an object of another kind nothing is asked, but for whether it is None.
            is_plain = type(value) in (bool, int, type(None), Tensor, nn.Parameter)
            held[node.id] = value if is_plain else _Something
        elif not isinstance(node, _ASKS) or getattr(node, "attr", "shape") not in _OF_SHAPE:
            return None
    try:
        answer = eval(compile(ast.Expression(fork.test), "<condition>", "eval"), {}, held)
    except Exception:
        return None
    return (fork.body if answer else fork.orelse) if type(answer) in (bool, type(None)) else None


def _path(node: ast.AST, user: ast.stmt) -> list[tuple[list[ast.stmt], int, bool]]:
    """Return the blocks that hold a statement, the outermost first.

    With each block comes where in it the statement is, and whether it is the block of a loop.
    """
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, [])
        for position, statement in enumerate(block if isinstance(block, list) else ()):
            inner = _path(statement, user)
            if inner or statement is user:
                return [(block, position, isinstance(node, ast.For | ast.While)), *inner]
    return []


def _stored(node: ast.AST) -> set[str]:
    """Return the variables to which a statement assigns, in whatever it holds."""
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }
