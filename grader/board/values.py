"""What the names in a line of code held when it raised an error: shapes, whole numbers, None."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any

from torch import Tensor, nn

from grader.board.statements import at_line, read_at
from grader.board.workspace import Workspace
from grader.recognition.likeness import parsed

_COLUMN = " Should one of them be a column, `[:, None]`, to combine each number with every other?"
_UNCALLABLE = (
    "`{}` is called like a function here, but it holds {}, {!r}. Where does it get its value?"
)
_PLAIN = (bool, int, float, str, bytes, list, tuple, dict, type(None))
_LONGEST = 120  # characters of a call that is shown
_KINDS = {
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "a text",
    bytes: "bytes",
    list: "a list",
    tuple: "a tuple",
    dict: "a dictionary",
}


def sizes(traceback: TracebackType | None, workspace: Workspace, exercise: str = "") -> str:
    """Return the shapes of the tensors that the student's last line names, in a sentence, or "".

    With an `exercise`, it is the last line in that exercise's file, if that line names a tensor:
    the student doesn't know the names in the code that it calls.
    """
    named = list(_values(traceback, workspace, exercise))
    shapes, numbers = _shapes_and_numbers(named)
    last = [path.stem for path, *_ in workspace.frames(traceback)][-1:]
    line = "this line" if exercise in ("", *last) or not shapes else "your line"
    if not shapes and exercise:
        named = list(_values(traceback, workspace))
        shapes, numbers = _shapes_and_numbers(named)
    tensors = [value for _, value in named if isinstance(value, Tensor)]
    lengths = [tensor.numel() if tensor.dim() == 1 else 0 for tensor in tensors]
    sentence = "; ".join([", ".join(shapes), *numbers])
    is_outer = len(lengths) == 2 and all(lengths) and lengths[0] != lengths[1]
    ending = _COLUMN if is_outer else ""
    return f"Shapes in {line}: {sentence}.{ending}" if shapes else ""


def lengths(traceback: TracebackType | None, workspace: Workspace) -> str:
    """Return how long the lists in the student's last line are, in a sentence, or ""."""
    told, numbers = [], []
    for name, value in _values(traceback, workspace):
        if isinstance(value, list | tuple | str):
            told.append(f"`{name}` has {len(value)} item{'s' * (len(value) != 1)}")
        elif isinstance(value, int) and not isinstance(value, bool):
            numbers.append(f"`{name}` is {value}")
    return (
        f"Here {' and '.join(filter(None, (', '.join(told), ', '.join(numbers))))}." if told else ""
    )


def condition(traceback: TracebackType | None, workspace: Workspace) -> str:
    """Return what the condition of the student's `raise`, which is the last line, was about.

    That is a sentence on the shapes and numbers in it, or "" where it has none.
    """
    frames = list(workspace.frames(traceback))
    if not frames:
        return ""
    _, frame, number = frames[-1]
    around = [
        node
        for node in ast.walk(parsed("".join(linecache.getlines(frame.f_code.co_filename))))
        if isinstance(node, ast.If) and node.lineno <= number <= (node.body[-1].end_lineno or 0)
    ]
    if not around:
        return ""
    shapes, numbers = _shapes_and_numbers(_named_in(around[-1].test, frame))
    sentence = "; ".join(filter(None, (", ".join(shapes), ", ".join(numbers))))
    return f"In the condition of the `raise`: {sentence}." if sentence else ""


def given(traceback: TracebackType | None, workspace: Workspace) -> str:
    """Return what the function that raised in the student's last line was given, in a sentence.

    That is "" where the arguments are not plain values, too long to show, or changed since.
    """
    frames = list(workspace.frames(traceback))
    if not frames:
        return ""
    _, frame, _ = frames[-1]
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    words = [
        f"{name}={frame.f_locals[name]!r}"
        for name in names
        if name in frame.f_locals and type(frame.f_locals[name]) in _PLAIN
    ]
    sentence = ", ".join(words)
    is_method = "self" in names
    if not words or is_method or len(sentence) > _LONGEST or len(words) < len(names):
        return ""
    return f"Here it is {code.co_name}({sentence})."


def nones(traceback: TracebackType | None, workspace: Workspace) -> str:
    """Return which names in the student's last line are None, in a sentence, or ""."""
    names = [f"`{name}`" for name, value in _values(traceback, workspace) if value is None]
    return f"{names[0]} is None here." if len(names) == 1 else ""


def uncallable(traceback: TracebackType | None, workspace: Workspace) -> str:
    """Return which name in the student's last line is called and holds a plain value, or ""."""
    frames = list(workspace.frames(traceback))
    _, frame, number = frames[-1] if frames else (None, None, 0)
    if frame is None:
        return ""
    statement = at_line("".join(linecache.getlines(frame.f_code.co_filename)), number)
    for node in ast.walk(statement) if statement is not None else ():
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name):
            value = frame.f_locals.get(called.id)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            owner = frame.f_locals.get(called.value.id)
            value = vars(owner).get(called.attr) if isinstance(owner, nn.Module) else None
        else:
            continue
        if isinstance(value, bool | int | float | str | list | tuple | dict):
            return _UNCALLABLE.format(ast.unparse(called), _KINDS[type(value)], value)
    return ""


def _shapes_and_numbers(named: Iterable[tuple[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the shapes of the tensors among these values, and the whole numbers, in words."""
    shapes, numbers = [], []
    for name, value in named:
        if isinstance(value, Tensor):
            shapes.append(f"{name} {tuple(value.shape)}")
        elif isinstance(value, int) and not isinstance(value, bool):
            numbers.append(f"{name} is {value}")
    return shapes, numbers


def _values(
    traceback: TracebackType | None, workspace: Workspace, exercise: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield the variables and the module's tensors in the student's last line, each once.

    With an `exercise`, only the lines of its file count.
    """
    frames = [
        (path, frame, line)
        for path, frame, line in workspace.frames(traceback)
        if not exercise or path.stem == exercise
    ]
    if not frames:
        return
    _, frame, number = frames[-1]
    code = read_at("".join(linecache.getlines(frame.f_code.co_filename)), number)
    if code is not None:
        yield from _named_in(code, frame)


def _named_in(code: ast.AST, frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the variables and the module's tensors in a piece of code, each once."""
    seen: dict[str, Any] = {}
    for node in ast.walk(code):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in frame.f_locals:
                seen[node.id] = frame.f_locals[node.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = frame.f_locals.get(node.value.id)
            held = {**owner._parameters, **owner._buffers} if isinstance(owner, nn.Module) else {}
            if node.attr in held:
                seen[ast.unparse(node)] = held[node.attr]
    yield from seen.items()
