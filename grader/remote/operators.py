"""Watches what of torch code calls while requests are answered, and where.

Two views of it: the operators that reach torch's dispatcher, whichever way they were called, and
the functions written in Python through which code enters torch, since some of those compute what an
exercise asks for out of ordinary operators. They would see each other, and code may keep what it
has found: each view is for a process of its own.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Literal, Protocol

from torch.utils._python_dispatch import TorchDispatchMode

from grader.remote.modules import PACKAGE, REFERENCE, file_of

# The name, and the file and the line of the student's that led there.
Call = tuple[str, str | None, int | None]

View = Literal["operators", "functions"]

MOST = 200  # different calls
# Modules of which an exercise has no need, besides torch: their functions are watched as well.
WATCHED = frozenset({"torch", "concurrent", "ctypes", "multiprocessing", "scipy", "threading"})
_LOCKS = ("threading.Lock", "threading.RLock")  # which objects of many libraries hold
_KIT = __name__.partition(".")[0]


@dataclass(frozen=True)
class Ordinary:
    """Names that need not be noted: these, and those that begin so, but for some."""

    names: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()
    ruled_out: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        """Whether it is one of them."""
        if name in self.ruled_out:
            return False
        return name in self.names or name.startswith(self.beginnings)


class Watch(Protocol):
    """What notes the calls that are made while it is entered."""

    calls: Counter[Call]

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: Any) -> Any: ...


def watch(view: View, ordinary: Ordinary) -> Watch:
    """Return a mode that notes operators, or functions of watched modules."""
    return _Operators(ordinary) if view == "operators" else _Entries(ordinary)


class _Operators(TorchDispatchMode):
    """Notes every operator while it is entered."""

    def __init__(self, ordinary: Ordinary) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: Counter[Call] = Counter()
        self.ordinary = ordinary

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
        name = operator_name(func.name())
        if name not in self.ordinary:
            _note(self.calls, name, sys._getframe(1))
        return func(*args, **(kwargs or {}))


def operator_name(overload: str) -> str:
    """Return an operator's name without its variant: `aten::add` for `aten::add_.Tensor`."""
    name = overload.partition(".")[0]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


class _Entries:
    """Notes functions of watched modules that are called from elsewhere, while it is entered."""

    def __init__(self, ordinary: Ordinary) -> None:
        self.calls: Counter[Call] = Counter()
        self.ordinary = ordinary
        self.known: dict[CodeType, str] = {}

    def __enter__(self) -> None:
        threading.setprofile(self.event)
        sys.setprofile(self.event)

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def event(self, frame: FrameType, kind: str, _argument: Any) -> None:
        """A function is called, or something else happens that is of no interest."""
        if kind != "call":
            return
        name = self._name(frame)
        if name and frame.f_back is not None:
            above = self._name(frame.f_back)
            inside = above == _KIT or above.partition(".")[0] in WATCHED
            # What the exercise rules out is noted even where torch's own functions lead to it.
            if name not in self.ordinary.ruled_out and (inside or name in self.ordinary):
                return
            _note(self.calls, name, frame.f_back)

    def _name(self, frame: FrameType) -> str:
        """Return the name of a function of the kit's or of a watched module, "" for any other."""
        file = file_of(frame)
        if file == REFERENCE:
            return ""
        code = frame.f_code
        name = self.known.get(code)
        if name is None:
            module = str(frame.f_globals.get("__name__") or "")
            root = module.partition(".")[0]
            name = _KIT if root == _KIT else ""
            if root in WATCHED and not file.startswith(f"{PACKAGE}/"):
                name = f"{module}.{code.co_qualname}"
                if name.startswith(_LOCKS) or code.co_name == "<module>":
                    name = ""
            self.known[code] = name
        return name


def _note(calls: Counter[Call], name: str, frame: FrameType | None) -> None:
    while frame is not None and not file_of(frame).startswith(f"{PACKAGE}/"):
        frame = frame.f_back
    place = (None, None) if frame is None else (file_of(frame), frame.f_lineno)
    call = (name, *place)
    if call in calls or len(calls) < MOST:
        calls[call] += 1
