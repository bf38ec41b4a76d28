"""Watches what of torch code calls while requests are answered, and where.

Two views of it: the operators that reach torch's dispatcher, whichever way they were called, and
the functions written in Python through which code enters torch, since some of those compute what an
exercise asks for out of ordinary operators.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from grader.remote.modules import PACKAGE

# The name, and the file and the line of the student's that led there.
Call = tuple[str, str | None, int | None]

MOST = 200  # different calls
# Modules of which an exercise has no need, besides torch: their functions are watched as well.
WATCHED = frozenset({"torch", "concurrent", "ctypes", "multiprocessing", "scipy", "threading"})
_LOCKS = ("threading.Lock", "threading.RLock")  # which objects of many libraries hold
_KIT = __name__.partition(".")[0]


def watch(
    load: Callable[[], object],
    answer: Callable[[dict[str, Any]], Any],
    requests: Sequence[dict[str, Any]],
    seconds: float,
) -> Counter[Call]:
    """Have code loaded and requests answered and return the calls, with how often there was each.

    That happens once for each view, since they would see each other, and each time for so many
    seconds of processor time; what is left then is not asked.
    """
    calls: Counter[Call] = Counter()
    end = time.process_time() + seconds
    with contextlib.suppress(_EnoughError), _Operators(calls, end):
        load()
    for request in requests:
        if time.process_time() > end:
            break
        with _Operators(calls, end):
            answer(request)
    entries, end = _Entries(calls), time.process_time() + seconds
    threading.setprofile(entries.event)
    sys.setprofile(entries.event)
    try:
        load()
        for request in requests:
            if time.process_time() > end:
                break
            answer(request)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


class _EnoughError(BaseException):
    """There is no time left to watch. No `Exception`, so that few answers catch it."""


class _Operators(TorchDispatchMode):
    """Notes every operator while it is entered."""

    def __init__(self, calls: Counter[Call], end: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls = calls
        self.end = end

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch imports its compiler and sympy, 0.5 s and more, for a mode's first call.
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Note the operator and call it."""
        if time.process_time() > self.end:
            raise _EnoughError
        _note(self.calls, operator_name(func.name()), sys._getframe(1))
        return func(*args, **(kwargs or {}))


def operator_name(overload: str) -> str:
    """The name of an operator, in whichever of its forms: `aten::add` for `aten::add_.Tensor`."""
    name = overload.partition(".")[0]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


class _Entries:
    """Notes functions of watched modules that are called from elsewhere, for `sys.setprofile`."""

    def __init__(self, calls: Counter[Call]) -> None:
        self.calls = calls
        self.known: dict[CodeType, str] = {}

    def event(self, frame: FrameType, kind: str, _argument: Any) -> None:
        """A function is called, or something else happens that is of no interest."""
        if kind != "call":
            return
        name = self._name(frame)
        if name and frame.f_back is not None:
            above = self._name(frame.f_back)
            if above != _KIT and above.partition(".")[0] not in WATCHED:
                _note(self.calls, name, frame.f_back)

    def _name(self, frame: FrameType) -> str:
        """The name of a function of the kit's or of a watched module, "" for any other."""
        code = frame.f_code
        name = self.known.get(code)
        if name is None:
            module = str(frame.f_globals.get("__name__") or "")
            root = module.partition(".")[0]
            name = _KIT if root == _KIT else ""
            if root in WATCHED and not code.co_filename.startswith(f"{PACKAGE}/"):
                name = f"{module}.{code.co_qualname}"
                if name.startswith(_LOCKS) or code.co_name == "<module>":
                    name = ""
            self.known[code] = name
        return name


def _note(calls: Counter[Call], name: str, frame: FrameType | None) -> None:
    while frame is not None and not frame.f_code.co_filename.startswith(f"{PACKAGE}/"):
        frame = frame.f_back
    place = (None, None) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    call = (name, *place)
    if call in calls or len(calls) < MOST:
        calls[call] += 1
