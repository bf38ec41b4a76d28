"""Follows code line by line: which lines run, and what each of them makes.

Of a tensor only so much is noted that it can be found again in other code: how many numbers it has,
their sum and that of their squares. The order of its axes does not matter then.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from grader.remote.modules import file_of

MOST = 1200  # values
LEAST, LARGEST = 4, 1 << 17  # numbers in a tensor that is noted

# The number of the request, the file's name, the line, how many numbers, whether they are numbers
# (1) or booleans (0), their sum and the sum of their squares.
Value = tuple[int, str, int, int, int, float, float]


@dataclass
class Trace:
    """What ran: the lines by file, and what they made, in this order."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)


def follow(
    answer: Callable[[dict[str, Any]], Any],
    requests: Sequence[dict[str, Any]],
    files: Callable[[str], str | None],
    noting: bool = False,
) -> Trace:
    """Have the requests answered, and return what ran meanwhile.

    `files` gives the name for a file whose code is followed, None for others. With `noting` the
    values are noted, which takes longer.
    """
    trace = Trace()
    number = 0

    def begun(frame: types.FrameType, *_: Any) -> Any:
        name = files(file_of(frame))
        if name is None:
            return None
        ran = trace.lines.setdefault(name, set())
        ran.add(frame.f_lineno)
        if not noting:
            return _lines(ran)
        return _Notes(trace, number, name, ran, frame).event

    sys.settrace(begun)
    try:
        for number, request in enumerate(requests):  # noqa: B007 - `begun` reads it
            answer(request)
    finally:
        sys.settrace(None)
    return trace


def _lines(ran: set[int]) -> Callable[..., Any]:
    def event(frame: types.FrameType, *_: Any) -> Any:
        ran.add(frame.f_lineno)
        return event

    return event


class _Notes:
    """The values that the lines of one function call compute."""

    def __init__(
        self, trace: Trace, number: int, name: str, ran: set[int], frame: types.FrameType
    ) -> None:
        self.trace = trace
        self.number = number
        self.name = name
        self.ran = ran
        self.line = frame.f_lineno
        self.seen = {
            name: (id(tensor), tensor._version) for name, tensor in _tensors(frame.f_locals)
        }

    def event(self, frame: types.FrameType, kind: str, value: Any) -> Any:
        """Return a line is about to run, or the function returns a value."""
        for name, local in _tensors(frame.f_locals):
            mark = (id(local), local._version)
            if self.seen.get(name) != mark:
                self.seen[name] = mark
                self.note(local)
        if kind == "return":
            for tensor in value if isinstance(value, tuple) else (value,):
                if type(tensor) is Tensor:
                    self.note(tensor)
        self.line = frame.f_lineno
        self.ran.add(self.line)
        return self.event

    def note(self, tensor: Tensor) -> None:
        """Note a tensor that the line before has made."""
        if not LEAST <= tensor.numel() <= LARGEST or len(self.trace.values) >= MOST:
            return
        if tensor.is_complex():
            return
        numbers = tensor.detach().double()
        sums = float(numbers.sum()), float(numbers.square().sum())
        kind = int(str(tensor.dtype) != "torch.bool")
        self.trace.values.append((self.number, self.name, self.line, tensor.numel(), kind, *sums))


def _tensors(names: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    return ((name, value) for name, value in [*names.items()] if type(value) is Tensor)
