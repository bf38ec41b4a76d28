"""Dropout that acts although the module is in evaluation mode, noticed while a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from grader.board.workspace import Workspace
from grader.feedback.finding import Place
from grader.feedback.mismatch import Mismatch

_FUNCTIONS = (F.dropout, F.alpha_dropout, F.feature_alpha_dropout)
HEADLINE = "Dropout acts in evaluation mode, where nothing should be dropped."
HELP = (
    "`F.dropout` drops unless you pass `training=self.training`. An `nn.Dropout` created in "
    "__init__ knows the mode by itself."
)


class _Dropouts(TorchFunctionMode):
    """Keeps the first line of the student's at which a dropout acts in evaluation mode."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self.place: Place | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out the call once it has been checked."""
        __tracebackhide__ = True
        del types
        kwargs = kwargs or {}
        if func in _FUNCTIONS and self.place is None and _acts(*args, **kwargs):
            self.place = self._in_evaluation()
        return func(*args, **kwargs)

    def _in_evaluation(self) -> Place | None:
        """Return the student's line that calls now, if its module is in evaluation mode."""
        innermost = self.workspace.innermost()
        if innermost is None:
            return None
        _, frame = innermost
        module = frame.f_locals.get("self")
        if not isinstance(module, nn.Module) or module.training:
            return None
        code = frame.f_code
        return self.workspace.place_at(code.co_filename, frame.f_lineno, code.co_qualname)


@contextmanager
def watch(workspace: Workspace) -> Iterator[None]:
    """Raise a `Mismatch` that names the cause if the block fails and a dropout was left on."""
    with _Dropouts(workspace) as dropouts:
        try:
            yield
        except Mismatch as error:
            if dropouts.place is None:
                raise
            raise LeftOnError(dropouts.place) from error


class LeftOnError(Exception):
    """A test failed, and dropout acted in evaluation mode at `place`."""

    def __init__(self, place: Place) -> None:
        super().__init__(HEADLINE)
        self.place = place


def _acts(
    input: object,  # noqa: ARG001 - torch's names
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,  # noqa: ARG001
) -> bool:
    """Return whether these arguments make a dropout drop something."""
    return bool(training) and p > 0
