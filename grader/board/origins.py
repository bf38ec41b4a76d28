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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType

import torch
from torch import Tensor

from grader.board.assignments import assigned, is_kept
from grader.board.statements import at_line
from grader.board.workspace import Workspace
from grader.feedback.finding import Place
from grader.recognition.likeness import parsed

_MADE = "`{name}` {shape} is computed on {lines}{source}."
_MOST = 4
_NO_SIZE = r"dimension \d+"
_NO_SHAPE = ("device", "dtype")


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
    nowhere. Where a mask is among what the last line of all code here read, no other one counts.
    """
    sizes = set(map(int, re.findall(r"\d+", re.sub(_NO_SIZE, "", str(error)))))
    met = _masks_met(error, workspace)
    frames = [
        (frame, line)
        for path, frame, line in workspace.frames(error.__traceback__)
        if path.stem == exercise
    ]
    for frame, line in reversed(frames):
        by_lines = {origin.lines: origin for origin in _origins(frame, line, sizes, met)}
        lines = sorted({number for numbers in by_lines for number in numbers})
        if len(lines) > _MOST:
            return "", ()
        if lines:
            code = frame.f_code
            places = [
                workspace.place_at(code.co_filename, number, code.co_qualname) for number in lines
            ]
            sentence = " ".join(by_lines[numbers].told() for numbers in sorted(by_lines))
            return sentence, tuple(places)
    return "", ()


def as_given(error: BaseException, workspace: Workspace) -> set[str]:
    """Return the variables in the student's last line that hold what the test gave, unchanged.

    None are known where the student's code calls other code of its own.
    """
    frames = [(frame, line) for _, frame, line in workspace.frames(error.__traceback__)]
    if len(frames) != 1:
        return set()
    frame, line = frames[0]
    names = {name: frame.f_locals.get(name) for name in _read_at(frame, line)}
    arguments = set(frame.f_code.co_varnames[: frame.f_code.co_argcount])
    function = _function("".join(linecache.getlines(frame.f_code.co_filename)), line)
    stored = {
        node.id
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return {name for name in names if name in arguments - stored}


def _masks_met(error: BaseException, workspace: Workspace) -> set[int]:
    """Return where the masks lie in memory that the last line of all code here reads."""
    frames = list(workspace.frames(error.__traceback__))
    if not frames:
        return set()
    _, frame, line = frames[-1]
    tensors = _tensors(_read_at(frame, line), frame).values()
    return {_memory(tensor) for tensor in tensors if tensor.dtype == torch.bool}


def _tensors(names: Iterable[str], frame: FrameType) -> dict[str, Tensor]:
    """Return those of the variables that hold a tensor."""
    held = {name: frame.f_locals.get(name) for name in names}
    return {name: value for name, value in held.items() if isinstance(value, Tensor)}


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _read_at(frame: FrameType, line: int) -> dict[str, None]:
    """Return the variables that the statement on a line reads."""
    statement = at_line("".join(linecache.getlines(frame.f_code.co_filename)), line)
    return _read(statement) if statement is not None else {}


def _origins(frame: FrameType, line: int, sizes: set[int], met: set[int]) -> Iterator[_Origin]:
    """Yield the origin of each tensor in a line that the same function has made."""
    source = "".join(linecache.getlines(frame.f_code.co_filename))
    function = _function(source, line)
    statement = at_line(function, line) if function is not None else None
    if function is None or statement is None:
        return
    tensors = _tensors(_read(statement), frame)
    if met:
        tensors = {
            name: tensor
            for name, tensor in tensors.items()
            if tensor.dtype != torch.bool or _memory(tensor) in met
        }
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
    statement = assigned(name, user, function, frame)
    if not isinstance(value, Tensor) or statement is None:
        return None
    read = _read(_made_from(name, statement))
    of = {
        other: held
        for other in read
        if other != name
        and isinstance(held := frame.f_locals.get(other), Tensor)
        and is_kept(other, statement, user, function)
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


def _made_from(name: str, statement: ast.Assign) -> ast.AST:
    """Return what a statement assigns to a variable; of `a, b = c, d` the part for this one."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for element, part in zip(target.elts, value.elts, strict=False):
            if isinstance(element, ast.Name) and element.id == name:
                return part
    return statement


def _function(source: str, line: int) -> ast.FunctionDef | None:
    """Return the innermost function that holds a line."""
    functions = [
        node
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(functions, key=lambda node: node.lineno, default=None)


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
