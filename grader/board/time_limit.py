"""Stopping code that does not come back."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Public tests take milliseconds. Once one was stopped, others that would hang get less.
SECONDS = 10.0
SECONDS_AFTER_THE_FIRST = 2.0


class TookTooLong(BaseException):
    """The code did not come back in time.

    It is no `Exception`, so that hypothesis does not try the same input again and again.
    """


_stopped_before = False


def _seconds() -> float:
    return SECONDS_AFTER_THE_FIRST if _stopped_before else SECONDS


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise `TookTooLong` in the block after `SECONDS`, or sooner if it happened before.

    Works in the main thread, where the system has timers (POSIX), and not while a debugger or
    another tracer watches; elsewhere the block simply runs.
    """
    if not _possible():
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    # The alarm rings again each second: a bare `except:` of the code may have swallowed the first.
    signal.setitimer(signal.ITIMER_REAL, _seconds(), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _possible() -> bool:
    watched = sys.gettrace() is not None
    if sys.version_info >= (3, 12):
        watched = watched or sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID) is not None
    in_main_thread = threading.current_thread() is threading.main_thread()
    return hasattr(signal, "setitimer") and in_main_thread and not watched


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - given by the system
    global _stopped_before
    _stopped_before = True
    raise TookTooLong
