"""Causes of errors: arguments in the wrong order, a layer of the wrong width, a missing `return`.

A traceback ends where the error was raised. These functions look at the calls on the way there and
at the student's file, for what somebody looking over their shoulder would notice.
"""

from __future__ import annotations

import ast
import collections.abc
import dis
import inspect
import re
import traceback as tracebacks
from collections.abc import Collection, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any, get_args, get_origin

from torch import Tensor, nn

from grader.board.workspace import HANDED_OUT, Workspace
from grader.feedback.finding import Place
from grader.recognition.likeness import parsed
from grader.recognition.misplaced import EXCHANGED, ONE, SEVERAL

_NO_FUNCTION = ", where a function or a layer belongs"
_UNRAISED = "`{name}(…)` only creates the error: `raise {name}(…)` raises it."
_LIST_EDITS = {"append", "extend", "insert", "pop", "clear", "remove"}
_MADE = "It came from {call}."
# Return annotations of functions that may return None.
_MAY_BE_NONE = re.compile(r"\b(?:None|Optional|Any|object)\b")
_CUT = (
    "The result has no connection to the parameters. Your code has {names}: is the result computed "
    "under {it}?"
)
# How messages name the attributes that detach a result from the graph.
_OFF_THE_GRAPH = {
    "no_grad": "`torch.no_grad`",
    "inference_mode": "`torch.inference_mode`",
    "detach": "`detach`",
    "detach_": "`detach_`",
    "data": "`.data`",
    "item": "`.item()`",
    "tolist": "`.tolist()`",
    "tensor": "`torch.tensor(…)`",
}
_WIDTH = (
    "`{layer}` of {owner} was made for {takes} and gets {gets}: the shape of its input is "
    "{shape}. Is this the right layer, with the right input, and made with the right sizes?"
)


def exchanged_arguments(
    traceback: TracebackType | None, workspace: Workspace
) -> tuple[str, Place | None]:
    """Return a sentence on a call that was given arguments of the wrong kind, and who calls.

    The sentence is "" if there is no such call, the place None if the caller isn't the student's
    code. Of a caller that only passes on what it was given, the caller is meant.
    """
    callers: list[tuple[FrameType, int]] = []
    for frame, number in tracebacks.walk_tb(traceback):
        if callers and _is_known(frame, workspace):
            kinds = _annotations(frame)
            wrong = {
                name: value
                for name, value in _given(frame).items()
                if _is_of_another_kind(name, value, kinds.get(name))
            }
            called = frame
            while wrong and len(callers) > 1 and (passed := _passed_on(callers[-1][0], wrong)):
                wrong, called = passed, callers.pop()[0]
            if wrong:
                caller, line = callers[-1]
                file, inside = caller.f_code.co_filename, caller.f_code.co_qualname
                is_students = workspace.holds_code(file) is not None
                place = workspace.place_at(file, line, inside) if is_students else None
                return _exchanged(called, wrong), place
        if _is_known(frame, workspace):
            callers.append((frame, number))
        elif not _is_of_torch(frame):
            callers = []  # the arguments of tests are right
    return "", None


def _passed_on(frame: FrameType, wrong: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that hold these values; none if it lacks one of them."""
    given = _given(frame)
    passed = {
        name: value
        for name, value in given.items()
        if isinstance(value, Tensor | nn.Module) and any(value is one for one in wrong.values())
    }
    return passed if len(passed) == len(wrong) else {}


def _exchanged(frame: FrameType, arguments: Mapping[str, Any]) -> str:
    """Return a sentence on these arguments of a call, which are of the wrong kind."""
    kinds, count = _annotations(frame), frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
    is_method = frame.f_code.co_varnames[:1] == ("self",)
    wrong = [
        _shown(name, value) + (_NO_FUNCTION if _is_function(kinds.get(name)) else "")
        for name, value in arguments.items()
    ]
    self, name = frame.f_locals.get("self"), frame.f_code.co_name
    is_made = name == "__init__"
    return EXCHANGED.format(
        call=f"`{type(self).__name__ if is_made or name == 'forward' else name}`",
        how="made" if is_made else "called",
        wrong=" and ".join(wrong),
        asks=SEVERAL if len(wrong) > 1 else ONE,
        names=", ".join(frame.f_code.co_varnames[is_method:count]),
    )


def width_of_layer(traceback: TracebackType | None) -> str:
    """Return a sentence on the `nn.Linear` that was given another number of features, or ""."""
    frames = [frame for frame, _ in tracebacks.walk_tb(traceback)]
    for number, frame in enumerate(frames):
        layer, given = frame.f_locals.get("self"), frame.f_locals.get("input")
        if frame.f_code is not nn.Linear.forward.__code__ or not isinstance(layer, nn.Linear):
            continue
        if not isinstance(given, Tensor) or not given.dim():
            continue
        for owner in (part.f_locals.get("self") for part in reversed(frames[:number])):
            if isinstance(owner, nn.Module) and layer in owner.children():
                name = next(name for name, part in owner.named_children() if part is layer)
                return _WIDTH.format(
                    layer=name,
                    owner=type(owner).__name__,
                    takes=f"{layer.in_features} feature{'s' * (layer.in_features != 1)}",
                    shape=tuple(given.shape),
                    gets=given.size(-1),
                )
    return ""


def constructor_call(traceback: TracebackType | None, workspace: Workspace, exercise: str) -> str:
    """Return the call of another exercise's constructor that ended with the error, or ""."""
    for frame in _constructors(traceback, workspace):
        path = workspace.holds_code(frame.f_code.co_filename)
        if path is None or path.stem != exercise:
            given = ", ".join(f"{name}={value!r}" for name, value in _arguments(frame).items())
            return _MADE.format(call=f"{type(frame.f_locals['self']).__name__}({given})")
    return ""


def without_return(source: str, raised: Collection[int]) -> tuple[str, int] | None:
    """Return the first function that lacks a `return` at its end, and its last line.

    It has to be annotated with a result or be called `forward`. If an error was raised on the lines
    `raised`, the function must have ended by then and be called by the functions with these lines,
    as its None can't come from anywhere else.
    """
    tree = parsed(source)
    running = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(node.lineno <= line <= (node.end_lineno or 0) for line in raised)
    ]
    called = {_name_of(part) for node in running for part in ast.walk(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        if running and (node in running or node.name not in called | {"forward"}):
            continue
        promises = node.returns is not None and not _MAY_BE_NONE.search(ast.unparse(node.returns))
        others = {
            part
            for inner in ast.walk(node)
            if isinstance(inner, ast.FunctionDef | ast.Lambda) and inner is not node
            for part in ast.walk(inner)
        }
        parts = [part for part in ast.walk(node) if part not in others]
        inside = [part for part in parts if isinstance(part, ast.Return | ast.Yield)]
        raises = any(isinstance(statement, ast.Raise) for statement in node.body)
        if not (promises or node.name == "forward") or raises:
            continue
        last = node.body[-1]
        ends_in_value = isinstance(last, ast.Expr) and not isinstance(last.value, ast.Constant)
        if ends_in_value or not any(part.value is not None for part in inside):
            return node.name, last.lineno
    return None


def _name_of(node: ast.AST) -> str:
    """Return the name of a function that is called or passed on here; "" where there is none."""
    return str(getattr(node, "id", "") or getattr(node, "attr", ""))


def without_raise(source: str) -> tuple[str, int] | None:
    """Return a sentence on the first error that is made and not raised, and its line."""
    for node in ast.walk(parsed(source)):
        made = node.value if isinstance(node, ast.Expr | ast.Return) else None
        if not isinstance(made, ast.Call):
            continue
        name = made.func
        if isinstance(name, ast.Name) and name.id.endswith("Error"):
            return _UNRAISED.format(name=name.id), made.lineno
    return None


def kept_by_methods(source: str, line: int) -> list[str]:
    """Return the attributes that the method around a line reads and that methods change.

    An example is "self.k" for a cache that grows with each call. Attributes that only `__init__`
    assigns don't count.
    """
    for owner in ast.walk(parsed(source)):
        methods = [n for n in getattr(owner, "body", []) if isinstance(n, ast.FunctionDef)]
        around = [n for n in methods if n.lineno <= line <= (n.end_lineno or 0)]
        if isinstance(owner, ast.ClassDef) and around and around[0].name != "__init__":
            changed = {
                ast.unparse(part)
                for method in methods
                if method.name != "__init__"
                for target in ast.walk(method)
                if isinstance(target, ast.Attribute | ast.Subscript)
                and not isinstance(target.ctx, ast.Load)
                for part in [target.value if isinstance(target, ast.Subscript) else target]
                if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self"
            }
            read = (
                ast.unparse(node)
                for node in ast.walk(around[0])
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            )
            return list(dict.fromkeys(name for name in read if name in changed))
    return []


def off_the_graph(source: str) -> str:
    """Return a sentence on what takes a result off autograd's graph in a source, or ""."""
    attributes = {n.attr for n in ast.walk(parsed(source)) if isinstance(n, ast.Attribute)}
    calls = [word for name, word in _OFF_THE_GRAPH.items() if name in attributes]
    pronoun = "it" if len(calls) == 1 else "one of them"
    return _CUT.format(names=" and ".join(calls), it=pronoun) if calls else ""


def cutting(source: str) -> list[tuple[int, str]]:
    """Return the lines that take a result off autograd's graph, each with the function around it.

    Constructors may, as parameters begin with numbers that need no gradient.
    """
    tree = parsed(source)
    inside = [("", node) for node in tree.body]
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        inside += [(f"{owner.name}.", node) for node in owner.body]
    return sorted(
        {
            (node.lineno, f"{prefix}{function.name}")
            for prefix, function in inside
            if isinstance(function, ast.FunctionDef) and function.name != "__init__"
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and node.attr in _OFF_THE_GRAPH
        }
    )


def changed_lists(source: str, name: str) -> list[int]:
    """Return the lines of a function that change a list that it was given, or one inside that."""
    function = next((n for n in parsed(source).body if getattr(n, "name", "") == name), None)
    if not isinstance(function, ast.FunctionDef):
        return []
    nodes = [*ast.walk(function)]
    given = {argument.arg for argument in function.args.args}
    for loop in (node for node in nodes if isinstance(node, ast.For | ast.comprehension)):
        if given & _names(loop.iter):
            given |= _names(loop.target)
    given -= {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    changed: list[int] = []
    for node in nodes:
        part: ast.AST | None = None
        if isinstance(node, ast.AugAssign):
            part = node.target
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            is_edit = isinstance(called, ast.Attribute) and called.attr in _LIST_EDITS
            part = called if is_edit else None
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            part = node.targets[0]
        while isinstance(part, ast.Attribute | ast.Subscript):
            part = part.value
        if isinstance(part, ast.Name) and part.id in given:
            changed.append(getattr(node, "lineno", 0))
    return changed


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _constructors(traceback: TracebackType | None, workspace: Workspace) -> Iterator[FrameType]:
    """Return the constructors of modules, the student's or provided, that the error passed through.

    The innermost comes first.
    """
    for frame, _ in reversed(list(tracebacks.walk_tb(traceback))):
        # `isinstance` would run code of the student's object, which may raise.
        is_module = issubclass(type(frame.f_locals.get("self")), nn.Module)
        if frame.f_code.co_name == "__init__" and is_module and _is_known(frame, workspace):
            yield frame


def _is_known(frame: FrameType, workspace: Workspace) -> bool:
    """Return whether it runs code of the workspace, or code that is provided there."""
    file = frame.f_code.co_filename
    return workspace.holds_code(file) is not None or file.endswith(HANDED_OUT)


def _is_of_another_kind(name: str, value: object, kind: object) -> bool:
    """Return whether an argument of this name and type may not have this value."""
    kinds = get_args(kind) or (kind,)
    if kind is int:
        return type(value) is float or isinstance(value, Tensor | nn.Module)
    if kind is float and name == "dropout":
        return isinstance(value, int | float) and not 0 <= value <= 1
    tensors = [hint for hint in kinds if hasattr(hint, "dtypes")]
    if not tensors:
        return _is_function(kind) and isinstance(value, Tensor | int | float | str)
    if isinstance(value, Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return not any(dtype in hint.dtypes for hint in tensors)
    return isinstance(value, nn.Module | float | int | str)


def _is_function(kind: object) -> bool:
    """Return whether an argument of this type is a function, or None."""
    return any(get_origin(hint) is collections.abc.Callable for hint in get_args(kind))


def _shown(name: str, value: object) -> str:
    """Return an argument in a few words."""
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.").rstrip("0123456789")
        numbers = {"bool": "booleans", "int": "whole numbers", "uint": "whole numbers"}
        return f"a tensor of {numbers.get(kind, 'floating-point numbers')} for `{name}`"
    if isinstance(value, nn.Module):
        return f"{type(value).__name__}, a module, for `{name}`"
    return f"{name}={value!r}"


def _is_of_torch(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "torch"


def _given(frame: FrameType) -> dict[str, Any]:
    """Return the arguments of a call by name, but for self and those assigned to since."""
    code = frame.f_code
    stored = {
        name
        for step in dis.get_instructions(code)
        if step.opname.startswith("STORE_FAST")
        for name in (step.argval if isinstance(step.argval, tuple) else (step.argval,))
    }
    return {
        name: frame.f_locals[name]
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if name != "self" and name in frame.f_locals and name not in stored
    }


def _arguments(frame: FrameType) -> dict[str, Any]:
    """Return the arguments of a constructor by name, but for self; only plain values are shown."""
    code = frame.f_code
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return {
        name: frame.f_locals[name]
        for name in names
        if type(frame.f_locals.get(name)) in (bool, int, float, str, type(None))
    }


def _annotations(frame: FrameType) -> dict[str, Any]:
    """Return the types that the `def` line gives its arguments."""
    name, self = frame.f_code.co_name, frame.f_locals.get("self")
    homes = [vars(kind) for kind in type(self).__mro__] if self is not None else [frame.f_globals]
    for home in homes:
        function = inspect.unwrap(home[name]) if callable(home.get(name)) else None
        if inspect.isfunction(function) and function.__code__ is frame.f_code:
            return dict(inspect.get_annotations(function))
    return {}
