"""A time limit for known mistakes whose edit makes an infinite loop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from grader.curriculum.mistakes import MistakeError

# CPU time for all replies of one edited answer, of which the slowest takes about a second.
SECONDS, TICK = 30.0, 0.1


class _OverError(BaseException):
    """The time is up. Not an `Exception`, since edited answers may catch those."""


@contextmanager
def ends(exercise: str, name: str) -> Iterator[None]:
    """Raise `MistakeError` if the block, in which that mistake's answer runs, does not end.

    Works in the main thread, on systems with timers; elsewhere the block simply runs.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not hasattr(signal, "setitimer"):
        yield
        return
    over = False

    def stop(*_: object) -> None:
        nonlocal over
        over = True
        raise _OverError

    before = signal.signal(signal.SIGPROF, stop)
    # The timer keeps firing: the next request may hang as well.
    signal.setitimer(signal.ITIMER_PROF, SECONDS, TICK)
    try:
        yield
    except _OverError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if over:
        raise MistakeError(
            f"{exercise}/{name}: an answer with this edit does not end; it was stopped after "
            f"{SECONDS:g} s. Correct it in grader/curriculum/mistakes/{exercise}.toml."
        )
