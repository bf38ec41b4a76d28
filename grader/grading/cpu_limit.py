"""A limit on what reading a student's source may cost the grader's own process.

Sources are hostile, and what is read in them are only words: where it takes too long, they are
left out.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

# Seconds until the timer fires again: raised in a `__del__`, an exception is only printed.
TICK = 1.0


class TooSlow(BaseException):
    """The reading took too long.

    It is not an `Exception`, so that nothing on its way to the limit takes it for an answer.
    """


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` in the block after so many seconds of this process's CPU time.

    Works in the main thread; elsewhere, and where the system has no timers, the block simply runs.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - given by the system
        raise TooSlow

    handler = signal.signal(signal.SIGPROF, stop)
    timer = signal.setitimer(signal.ITIMER_PROF, seconds, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        signal.setitimer(signal.ITIMER_PROF, *timer)
