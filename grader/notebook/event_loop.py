"""The event loop in which a notebook's cells await, one for all of them as in a kernel."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any


class EventLoop(asyncio.SelectorEventLoop):
    """An event loop without the pipe by which other threads would wake it: the jail has none."""

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end and return its result. An interrupt ends it too."""
        task = self.create_task(coroutine)
        try:
            return self.run_until_complete(task)
        except BaseException:
            task.cancel()
            with contextlib.suppress(BaseException):
                self.run_until_complete(task)
            raise

    def _make_self_pipe(self) -> None:
        self._ssock = self._csock = None
        self._internal_fds = 1

    def _close_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        pass
