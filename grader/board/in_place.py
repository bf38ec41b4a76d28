"""The line that modifies a tensor in place, noticed while a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from grader.board.workspace import Workspace
from grader.feedback.finding import Place
from grader.feedback.mismatch import Mismatch


class _Edits(TorchFunctionMode):
    """Keeps which tensors the student's lines modify, and the first line that does it to each."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        # The tensors are held, so that no other takes their place in memory.
        self.edited: dict[int, tuple[Tensor, Place]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out the call and look whether its first argument has changed."""
        __tracebackhide__ = True
        del types
        first = args[0] if args and isinstance(args[0], Tensor) else None
        if first is None or first.is_inference():
            return func(*args, **(kwargs or {}))
        version = first._version
        try:
            return func(*args, **(kwargs or {}))
        finally:
            if first._version != version:
                self._note(first)

    def _note(self, tensor: Tensor) -> None:
        memory = _memory(tensor)
        innermost = self.workspace.innermost()
        if memory in self.edited or innermost is None:
            return
        _, frame = innermost
        code = frame.f_code
        place = self.workspace.place_at(code.co_filename, frame.f_lineno, code.co_qualname)
        self.edited[memory] = tensor, place


@contextmanager
def watch(workspace: Workspace) -> Iterator[None]:
    """Give a `Mismatch` about a modified tensor the line that modifies it first."""
    with _Edits(workspace) as edits:
        try:
            yield
        except Mismatch as error:
            if error.modified is not None and _memory(error.modified) in edits.edited:
                error.place = edits.edited[_memory(error.modified)][1]
            raise


def _memory(tensor: Tensor) -> int:
    """Return where the numbers of a tensor are, which all views of it share."""
    return tensor.untyped_storage().data_ptr()
