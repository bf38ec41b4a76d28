"""Notes what each line of code makes, as whole values, while a request is answered."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from grader.remote.modules import file_of

# More than these are not noted, and what is noted is then of no use.
MOST_STEPS, MOST_TENSORS, MOST_VALUES = 800, 240, 1000
MOST_PARAMETERS = 4  # of each module that a method may use
LARGEST = 4096  # numbers in a tensor
LONGEST, DEEPEST = 100, 4  # of lists and dictionaries
_PLAIN = (bool, int, float, str, bytes, type(None))

# The file's name, the line, the function's name (`Class.method`), the variable's, and its value.
# What is returned has the name "return", an attribute of `self` one like `self.scale`. What a
# function was called with is on its first line.
Made = tuple[str, int, str, str, Any]


class NotPlainError(Exception):
    """A value that is not plain data, or too large."""


def copied(value: Any, depth: int = 0) -> Any:
    """Return a copy of plain data that later changes don't reach. Raises `NotPlainError`."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is Tensor or kind is torch.nn.Parameter:
        if value.numel() > LARGEST or value.is_meta or value.is_complex():
            raise NotPlainError
        return value.detach().clone()
    if depth >= DEEPEST or not hasattr(value, "__len__") or len(value) > LONGEST:
        raise NotPlainError
    if kind in (list, tuple, torch.Size):
        return [copied(item, depth + 1) for item in value]
    if kind is dict and all(type(key) in _PLAIN for key in value):
        return {key: copied(item, depth + 1) for key, item in value.items()}
    raise NotPlainError


def noted(
    answer: Callable[[dict[str, Any]], Any],
    requests: Sequence[dict[str, Any]],
    files: Callable[[str], str | None],
) -> list[Made] | None:
    """Have requests answered, and return what is made on the way to the last reply.

    None if that is too much, or if random numbers are drawn. `files` gives the name for a file
    whose code is followed, None for others.
    """
    *before, last = requests
    for request in before:
        answer(request)
    notes = _Notes(files)
    state = torch.get_rng_state()
    sys.settrace(notes.begun)
    try:
        answer(last)
    finally:
        sys.settrace(None)
    if notes.steps > MOST_STEPS or not torch.equal(state, torch.get_rng_state()):
        return None
    return notes.made


class _Notes:
    def __init__(self, files: Callable[[str], str | None]) -> None:
        self.files = files
        self.made: list[Made] = []
        self.steps = 0
        self.tensors = 0

    def begun(self, frame: types.FrameType, *_: Any) -> Any:
        name = self.files(file_of(frame))
        if name is None or frame.f_code.co_name.startswith("<") or self.steps > MOST_STEPS:
            return None
        return _Call(self, name, frame).event

    def note(self, name: str, line: int, function: str, variable: str, value: Any) -> None:
        """Note a value that a line has made, which was copied."""
        self.tensors += sum(isinstance(part, Tensor) for part in _parts(value))
        if self.tensors > MOST_TENSORS or len(self.made) >= MOST_VALUES:
            self.steps = MOST_STEPS + 1
        else:
            self.made.append((name, line, function, variable, value))


class _Call:
    """One call of a function, and what its variables held when they were last looked at."""

    def __init__(self, notes: _Notes, name: str, frame: types.FrameType) -> None:
        self.notes = notes
        self.name = name
        self.function = frame.f_code.co_qualname
        self.line = frame.f_code.co_firstlineno
        self.seen: dict[str, Any] = {}
        own = frame.f_locals.get("self")
        held = dict(getattr(own, "__dict__", {}))
        for name in ("_parameters", "_buffers"):
            held |= held.get(name, {})
        for attribute, value in held.items():
            if not attribute.startswith("_") and attribute != "training":
                self.look(f"self.{attribute}", value)
        for attribute, part in [*getattr(own, "_modules", {}).items()]:
            if isinstance(part, torch.nn.Module):
                for parameter in islice(part.parameters(), MOST_PARAMETERS):
                    self.look(f"self.{attribute}", parameter)
        self.look_at_all(frame)
        self.line = frame.f_lineno

    def event(self, frame: types.FrameType, kind: str, value: Any) -> Any:
        """Return a line is about to run, or the function returns a value."""
        self.notes.steps += 1
        if self.notes.steps > MOST_STEPS:
            sys.settrace(None)  # the rest runs at full speed
            return None
        self.look_at_all(frame)
        if kind == "return":
            self.look("return", value)
        self.line = frame.f_lineno
        return self.event

    def look_at_all(self, frame: types.FrameType) -> None:
        """Note the variables that have changed."""
        for variable, value in [*frame.f_locals.items()]:
            self.look(variable, value)

    def look(self, variable: str, value: Any) -> None:
        """Note the value of a variable, if it has changed and is plain data."""
        if type(value) is Tensor:
            mark: Any = (id(value), value._version)
            if self.seen.get(variable) == mark:
                return
            self.seen[variable] = mark
        try:
            copy = copied(value)
        except Exception:  # a tensor within `vmap` can't be read
            return
        if type(value) is not Tensor:
            if variable in self.seen and _same(self.seen[variable], copy):
                return
            self.seen[variable] = copy
        self.notes.note(self.name, self.line, self.function, variable, copy)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _parts(item)
    else:
        yield value


def _same(before: Any, now: Any) -> bool:
    """Return whether two copies are the same; of tensors, it is assumed that they are not."""
    if any(isinstance(part, Tensor) for part in (*_parts(before), *_parts(now))):
        return False
    return type(before) is type(now) and bool(before == now)
