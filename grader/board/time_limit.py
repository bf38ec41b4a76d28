"""Stopping code that does not come back."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from grader.feedback.uncompiled import without_compiler

# Seconds of CPU time, so that a busy machine or a cold disk does not look like an infinite loop.
# Public tests take milliseconds. Once one was stopped, others that would hang get less.
SECONDS = 10.0
SECONDS_AFTER_THE_FIRST = 2.0
# Code that sleeps uses no CPU time. It is stopped by the clock on the wall, much later.
WALL = 6.0
TICK = 0.1


class TookTooLong(BaseException):
    """The code did not finish in time.

    It is not an `Exception`, so that hypothesis does not retry the same input.
    """


_stopped_before = False


def _seconds() -> float:
    return SECONDS_AFTER_THE_FIRST if _stopped_before else SECONDS


@contextlib.contextmanager
def time_limit(seconds: float | None = None) -> Iterator[None]:
    """Raise `TookTooLong` in the block after `seconds` of CPU time.

    Without a number it is `SECONDS`, or less once something was stopped by that limit.

    Works in the main thread, and not while a debugger or another tracer watches; elsewhere the
    block simply runs. Where the system has no timers (Windows), a call into C is not interrupted.

    Meanwhile `torch.compile` leaves code as it is: its first use alone can take longer than that.
    Nor does it count what torch imports when it is first used, which is seconds for an optimizer.
    """
    if not _possible():
        yield
        return
    limit = _seconds() if seconds is None else seconds
    processor = wall = 0.0

    def begin() -> None:
        nonlocal processor, wall
        processor, wall = time.process_time() + limit, time.monotonic() + WALL * limit

    def is_over(frame: FrameType | None) -> bool:
        global _stopped_before
        if _imports_torch(frame):
            begin()
        over = time.process_time() > processor or time.monotonic() > wall
        _stopped_before = _stopped_before or (over and seconds is None)
        return over

    begin()
    watching = _timer(is_over) if hasattr(signal, "setitimer") else _watching_thread(is_over)
    with without_compiler(), watching:
        yield


def _imports_torch(frame: FrameType | None) -> bool:
    """Whether the code runs an import of torch: half done, nothing could import that module again.

    Of a module that is stopped Python forgets the module, and keeps those that it had imported.
    """
    return any(
        one.f_code.co_filename == "<frozen importlib._bootstrap>"
        and str(one.f_locals.get("name")).startswith("torch.")
        for one in _stack(frame)
    )


def _is_lost_in(frame: FrameType | None) -> bool:
    """Whether an exception would only be printed there: in what Python's collector calls."""
    return any(one.f_code.co_name in ("__del__", "gc_callback") for one in _stack(frame))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextlib.contextmanager
def _timer(is_over: Callable[[FrameType | None], bool]) -> Iterator[None]:
    is_collecting = False

    def gc_callback(phase: str, info: dict[str, int]) -> None:  # noqa: ARG001 - given by Python
        nonlocal is_collecting
        is_collecting = phase == "start"

    def look(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - given by the system
        if is_over(frame) and not is_collecting and not _is_lost_in(frame):
            raise TookTooLong

    before = signal.signal(signal.SIGALRM, look)
    # The timer keeps firing: a bare `except:` may have swallowed the first exception.
    signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    gc.callbacks.append(gc_callback)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks.remove(gc_callback)


@contextlib.contextmanager
def _watching_thread(is_over: Callable[[FrameType | None], bool]) -> Iterator[None]:
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    watched = threading.get_ident()
    ended = threading.Event()
    was_raised = False

    def look() -> None:
        nonlocal was_raised
        while not ended.wait(TICK):
            if is_over(sys._current_frames().get(watched)):
                was_raised = True
                raise_in(ctypes.c_ulong(watched), ctypes.py_object(TookTooLong))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        with contextlib.suppress(TookTooLong):
            thread.join()
        thread.join()  # if what was raised too late came up in the first one
        # What was raised too late comes up and ends here. To discard it, with None, would leave
        # Python 3.11 in a state in which the next traced call, a debugger's say, never returns.
        if was_raised:
            with contextlib.suppress(TookTooLong):
                for _ in range(100):
                    pass


def _possible() -> bool:
    watched = sys.gettrace() is not None
    if sys.version_info >= (3, 12):
        watched = watched or sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID) is not None
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and not watched
