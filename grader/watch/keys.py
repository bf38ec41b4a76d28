"""Reading single keys from the terminal, where there is one."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOKS = 0.1  # seconds between checks of whether to stop


@contextmanager
def keys(heard: Callable[[str], None]) -> Iterator[bool]:
    """Call `heard` with each key, in another thread; the terminal is as before at the end.

    Yields whether keys can be read, which needs a terminal as standard input and output.
    """
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        yield False
        return
    stop = threading.Event()
    with _one_by_one() as read:
        thread = threading.Thread(target=_listen, args=(read, heard, stop), daemon=True)
        thread.start()
        try:
            yield True
        finally:
            stop.set()
            thread.join(2 * _LOOKS)


def _listen(read: Callable[[], str], heard: Callable[[str], None], stop: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not stop.is_set():
            for key in read():
                heard(key)


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):  # closed, or none, as under pythonw
        return False


@contextmanager
def _one_by_one() -> Iterator[Callable[[], str]]:
    """What reads the keys pressed since; the terminal gives them at once, and shows none."""
    if sys.platform == "win32":
        import msvcrt
        import time

        def read() -> str:
            time.sleep(_LOOKS / 2)
            return msvcrt.getwch() if msvcrt.kbhit() else ""

        yield read
    else:
        import select
        import termios
        import tty

        terminal = sys.stdin.fileno()

        def read() -> str:
            if not select.select([terminal], [], [], _LOOKS)[0]:
                return ""
            pressed = os.read(terminal, 64)
            if not pressed:
                raise OSError("the terminal is closed")
            # Arrows and the like come as several characters that begin with this one.
            return "" if pressed.startswith(b"\x1b") else pressed.decode(errors="ignore")

        before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal)  # Ctrl-C stays a signal
        try:
            yield read
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
