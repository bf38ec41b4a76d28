"""The process of a notebook with the instructor's own tests, which run after its cells.

It is the process of any notebook, but nothing of torch is hidden: no exercise of the kit is graded
in it, and an instructor's test may compare with whatever torch has. A test arrives statement by
statement, as compiled code, when the cells above it have run.
"""

from __future__ import annotations

import contextlib
import inspect
import marshal
import socket
from collections.abc import Sequence
from typing import Any

import torch

from grader.notebook import child
from grader.notebook.event_loop import EventLoop
from grader.notebook.notebook import Notebook, quiet
from grader.notebook.pristine import Pristine
from grader.notebook.shell import Shell
from grader.remote.child import serve_code, warm_further

__all__ = ["hidden_files", "serve", "warm", "warm_further"]


def warm(expected: Sequence[str]) -> None:
    """Get ready as for any notebook, and touch what torch loads when tests compare tensors.

    Loading changes classes of torch; a notebook whose test does it has replaced nothing.
    """
    child.warm(expected)
    torch.testing.assert_close(torch.ones(1), torch.ones(1))


def hidden_files() -> dict[str, bytes]:
    """Nothing."""
    return {}


def serve(sock: socket.socket) -> None:
    """Do a child's whole work."""
    serve_code(sock, code)


def code(sources: dict[str, str], notebook: dict[str, Any] | None = None) -> Any:
    """Return the code of a submission."""
    if not notebook:
        return child.code(sources)
    return TestedNotebook(Shell.instance(), **notebook)


class TestedNotebook(Notebook):
    """A notebook whose cells are followed by tests of the instructor's own."""

    def __init__(self, shell: Shell, **notebook: Any) -> None:
        super().__init__(shell, **notebook)
        self.pristine = Pristine()

    def examine(
        self, programs: Sequence[bytes], program: bytes, token: str
    ) -> tuple[float | None, list[str]]:
        """Run a statement and return its value, if that is a number, and what had been replaced.

        Whatever the notebook has done to Python and its libraries is undone first. `programs`
        import what the test uses under names that begin with `token`; so are Python's builtins
        known to it. Raises whatever the statement raises.
        """
        replaced = self.pristine.restore()
        names = self.names
        given = {f"{token}{name}": value for name, value in self.pristine.builtins.items()}
        before, names["__builtins__"] = names.get("__builtins__"), self.pristine.builtins
        names.update(given)
        try:
            with quiet():
                for file in programs:
                    with contextlib.suppress(Exception):  # it was not installed for the student
                        exec(marshal.loads(file), names)
                value = self._value(marshal.loads(program))
        finally:
            names["__builtins__"] = before
            for name in [name for name in names if name.startswith(token)]:
                del names[name]
        return _number(value), replaced

    def _value(self, compiled: Any) -> Any:
        value = eval(compiled, self.names)
        if compiled.co_flags & inspect.CO_COROUTINE:
            self.shell.loop = self.shell.loop or EventLoop()
            return self.shell.loop.run(value)
        return value


def _number(value: Any) -> float | None:
    """Return the value as a number of points; None for anything else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float.__float__(value) if isinstance(value, float) else float(int.__int__(value))
    except OverflowError:
        return None
