"""The from-scratch rule while public tests run, so that no grade comes as a surprise.

It watches what a student's line calls while it runs. The judge's own guard replaces forbidden calls
for good; this one changes nothing, and only warns an honest person in time.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from operator import attrgetter
from typing import Any
from unittest.mock import patch

import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from grader.board.workspace import Workspace
from grader.curriculum import NAMES
from grader.curriculum.rules import rule

Notice = Callable[[str], None]
# What F.cross_entropy calls in the end, and when that is forbidden.
_SMOOTHED = "cross_entropy_loss if smoothed"


class RuledOutError(Exception):
    """The student's code calls what its exercise asks to be written by hand."""


class _Calls(TorchFunctionMode):
    """Notices torch's functions and the methods of tensors, by their names."""

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.notice = notice

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out the call once it has been checked."""
        __tracebackhide__ = True
        del types
        name = getattr(func, "__name__", "")
        if func is F.cross_entropy and _smooths(*args, **(kwargs or {})):
            name = _SMOOTHED
        if name in _functions():
            self.notice(name)
        return func(*args, **(kwargs or {}))


@contextmanager
def watch(workspace: Workspace, exercise: str) -> Iterator[None]:
    """Raise `RuledOutError` where code of `exercise` calls what its rule forbids.

    At the end it is raised again if the code has swallowed it.
    """
    noticed: list[RuledOutError] = []

    def notice(name: str) -> None:
        innermost = workspace.innermost()
        if innermost is None or innermost[0].stem != exercise:
            return
        names = [words for words, called in _named(exercise).items() if name in called]
        if names:
            noticed.append(RuledOutError(rule(exercise).message(names[:1])))
            raise noticed[-1]

    with ExitStack() as stack:
        for target in _classes(exercise):
            owner = _resolve(target)
            stack.enter_context(patch.object(owner, "__init__", _watched(owner, target, notice)))
        if rule(exercise).forbidden:
            stack.enter_context(_Calls(notice))
        yield
    if noticed:
        raise noticed[0]


def _smooths(*args: object, **kwargs: object) -> bool:
    """Return whether these arguments of `F.cross_entropy` ask it to smooth the labels."""
    smoothing = args[7] if len(args) > 7 else kwargs.get("label_smoothing", 0.0)
    return smoothing != 0.0


@functools.cache
def _named(exercise: str) -> dict[str, frozenset[str]]:
    """By readable name, what calls of it look like: names of functions, or a class's target."""
    return {
        name: frozenset(
            {target.removeprefix("aten::") for target in targets}
            | {target.rpartition(":")[2] for target in targets if _is_function(target)}
        )
        for name, targets in rule(exercise).forbidden.items()
    }


@functools.cache
def _functions() -> frozenset[str]:
    """Return the names of all functions that some rule forbids."""
    return frozenset().union(*(called for name in NAMES for called in _named(name).values()))


def _classes(exercise: str) -> tuple[str, ...]:
    """Return the classes that the rule forbids and that are there to be used, as `module:Class`."""
    return tuple(
        target
        for target in dict.fromkeys(chain.from_iterable(rule(exercise).forbidden.values()))
        if target.startswith("torch.nn") and isinstance(_resolve(target), type)
    )


def _is_function(target: str) -> bool:
    return target.startswith("torch.nn.functional:")


def _resolve(target: str) -> Any:
    if target.startswith("aten::"):
        return None
    module, _, path = target.partition(":")
    # Modules that nothing has imported stay unimported: some take longer than torch itself.
    try:
        return attrgetter(path)(sys.modules[module])
    except (KeyError, AttributeError):
        return None


def _watched(owner: Any, target: str, notice: Notice) -> Callable[..., None]:
    original = owner.__init__

    @functools.wraps(original)
    def watched(self: Any, *args: Any, **kwargs: Any) -> None:
        notice(target)
        original(self, *args, **kwargs)

    return watched
