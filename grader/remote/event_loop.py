"""The event loop in which a notebook's cells await, one for all of them as in a kernel."""

from __future__ import annotations

import asyncio
import inspect
from types import CodeType
from typing import Any


class EventLoop(asyncio.SelectorEventLoop):
    """An event loop without the pipe by which other threads would wake it: the jail has none."""

    def evaluate(self, code: CodeType, names: dict[str, Any]) -> Any:
        """What code of a cell gives, run while the loop runs. Raises what it raises."""

        async def evaluated() -> Any:
            found = eval(code, names)
            return await found if code.co_flags & inspect.CO_COROUTINE else found

        return self.run_until_complete(evaluated())

    def _make_self_pipe(self) -> None:
        self._ssock = self._csock = None
        self._internal_fds = 1

    def _close_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        pass
