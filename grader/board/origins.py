"""Where a tensor got the shape that does not fit: the line above the one that raised.

    scale = x.pow(2).mean(-1).rsqrt()      # `scale` (1, 2) is made here, from x (1, 2, 3)
    return weight * x * scale              # and does not fit here

An error about sizes comes out where two tensors meet. A person looks next at the line that made
each of them, and further up, as long as the size that does not fit was there before.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from torch import Tensor, nn

from grader.board.statements import at_line
from grader.board.workspace import Workspace
from grader.feedback.finding import Place
from grader.recognition.likeness import parsed

_MADE = "`{name}` {shape} is computed on {lines}{source}."
_MOST = 4
_NO_SIZE = r"dimension \d+"
_NO_SHAPE = ("device", "dtype")
_OF_SHAPE = ("dim", "ndim", "shape", "size")
# What the conditions of which the outcome can be told consist of.
_ASKS = (
    ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript, ast.Compare, ast.BoolOp,
    ast.UnaryOp, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


class _Something:
    """Stands for an object in a condition that asks whether it is None."""


@dataclass(frozen=True)
class _Origin:
    """A tensor, the statements that gave it its shape, and the tensors which those name."""

    name: str
    value: Tensor
    statements: tuple[ast.Assign, ...]
    of: tuple[tuple[str, Tensor], ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the statements, in order."""
        return tuple(statement.lineno for statement in self.statements)

    def told(self) -> str:
        """Return the origin in a sentence."""
        source = " and ".join(f"{name} {tuple(value.shape)}" for name, value in self.of)
        return _MADE.format(
            name=self.name,
            shape=tuple(self.value.shape),
            lines=f"line{'s' * (len(self.lines) > 1)} {' and '.join(map(str, self.lines))}",
            source=f", from {source}" if source else "",
        )


def of_shapes(
    error: BaseException, workspace: Workspace, exercise: str
) -> tuple[str, tuple[Place, ...]]:
    """Return where the tensors in the line that raised got their shapes, in words and as lines.

    The sizes that do not fit are those that the error names. The line is the last one of the
    exercise's own; where it names nothing but what its function was given, the line that calls this
    function is asked. Nothing is returned where the origins take more than four lines: that leads
    nowhere.
    """
    sizes = set(map(int, re.findall(r"\d+", re.sub(_NO_SIZE, "", str(error)))))
    frames = [
        (frame, line)
        for path, frame, line in workspace.frames(error.__traceback__)
        if path.stem == exercise
    ]
    for frame, line in reversed(frames):
        by_lines = {origin.lines: origin for origin in _origins(frame, line, sizes)}
        lines = sorted({number for numbers in by_lines for number in numbers})
        if len(lines) > _MOST:
            return "", ()
        if lines:
            code = frame.f_code
            places = [
                workspace.place_at(code.co_filename, number, code.co_qualname) for number in lines
            ]
            told = " ".join(by_lines[numbers].told() for numbers in sorted(by_lines))
            return told, tuple(places)
    return "", ()


def _origins(frame: FrameType, line: int, sizes: set[int]) -> Iterator[_Origin]:
    """Yield the origin of each tensor in a line that the same function has made."""
    source = "".join(linecache.getlines(frame.f_code.co_filename))
    function = _function(source, line)
    statement = at_line(function, line) if function is not None else None
    if function is None or statement is None:
        return
    held = {name: frame.f_locals.get(name) for name in _read(statement)}
    tensors = {name: value for name, value in held.items() if isinstance(value, Tensor)}
    wrong = [name for name, tensor in tensors.items() if sizes & set(tensor.shape)]
    for name in wrong or tensors:
        origin = _origin(name, statement, function, frame, sizes)
        if origin is not None:
            yield origin


def _origin(
    name: str, user: ast.stmt, function: ast.FunctionDef, frame: FrameType, sizes: set[int]
) -> _Origin | None:
    """Return the origin of the tensor that `user` reads under this name; None if unknown.

    Where a single one of the tensors that it is made from has all of `sizes` that it has, these
    have their origin there.
    """
    value = frame.f_locals.get(name)
    statement = _assigned(name, user, function, frame)
    if not isinstance(value, Tensor) or statement is None:
        return None
    read = _read(_made_from(name, statement))
    of = {
        other: held
        for other in read
        if other != name
        and isinstance(held := frame.f_locals.get(other), Tensor)
        and _is_kept(other, statement, user, function)
    }
    if name in read:  # `x = x[:n]`: what was it before?
        before = _origin(name, statement, function, frame, set())
        if before is not None:
            statements = (*before.statements, statement)
            return _Origin(name, value, statements, tuple({**dict(before.of), **of}.items()))
    wrong = sizes & set(value.shape)
    passed_on = [other for other, held in of.items() if wrong and wrong <= set(held.shape)]
    if len(passed_on) == 1:
        above = _origin(passed_on[0], statement, function, frame, sizes)
        if above is not None or of[passed_on[0]].shape == value.shape:
            return above
    return _Origin(name, value, (statement,), tuple(of.items()))


def _is_kept(name: str, first: ast.stmt, last: ast.stmt, function: ast.FunctionDef) -> bool:
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


def _assigned(
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
            if value is held or not _is_kept(node.id, fork, user, function):
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


def _made_from(name: str, statement: ast.Assign) -> ast.AST:
    """Return what a statement assigns to a variable; of `a, b = c, d` the part for this one."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            if isinstance(one, ast.Name) and one.id == name:
                return part
    return statement


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


def _function(source: str, line: int) -> ast.FunctionDef | None:
    """Return the innermost function that holds a line."""
    functions = [
        node
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(functions, key=lambda node: node.lineno, default=None)


def _stored(node: ast.AST) -> set[str]:
    """Return the variables to which a statement assigns, in whatever it holds."""
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }


def _read(node: ast.AST) -> dict[str, None]:
    """Return the variables from which a statement may have a shape, each once and in order."""
    asked = {
        id(part.value)
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr in _NO_SHAPE
    }
    return {
        part.id: None
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in asked
    }
