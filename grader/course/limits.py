"""What a text of a student's may cost when it is laid out: Markdown, HTML, coloured code.

The parsers of all three take time that grows with the square of some texts, a nest of quotations or
a long row of backslashes, and one such cell would hold up the pages of a class. Short texts are
laid out at once. A long one is laid out in a child with limits, and where that does not finish, or
the page has used up its time, the text is shown as it was typed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import signal
import time
from collections.abc import Callable
from io import FileIO
from typing import Any, NoReturn

SECONDS, PAGE_SECONDS = 1.0, 2.0
MEMORY = 1 << 30
PAGE_TAGS = 60_000  # which nbconvert reads again, a few seconds for so many
SHORT = 10_000  # characters that no parser was seen to take more than 0.3 s for
MAX_LONG = 2_000_000
_MAX_LAID_OUT = 20 << 20
_WALL = 20.0  # how many times its seconds a child may take on a busy machine

resource: Any = importlib.util.find_spec("resource") and importlib.import_module("resource")


class TooMuchError(Exception):
    """A text is too long or too deeply nested to be laid out; the message says so to its author."""


class Allowance:
    """The CPU time that the texts of one page may take, long and short ones separately.

    Two accounts, so that a long text which nothing gets through leaves the page's sentences as they
    were meant. `tags` is how many there may be in all that becomes of them.
    """

    def __init__(self, seconds: float = PAGE_SECONDS, tags: int = PAGE_TAGS) -> None:
        self._left = {"long": seconds, "short": seconds}
        self._tags = tags

    def laid_out(self, render: Callable[[str], str], source: str) -> str:
        """Return `render(source)`. Raises `TooMuchError`."""
        account = "short" if len(source) <= SHORT else "long"
        before = _used()
        try:
            if self._left[account] <= 0:
                raise TooMuchError("The texts of this notebook take too long to be laid out.")
            html = laid_out(render, source, min(self._left[account], SECONDS))
            tags = html.count("<")
            if tags > self._tags:
                raise TooMuchError("The texts of this notebook are too many to be laid out.")
            self._tags -= tags
            return html
        finally:
            self._left[account] -= _used() - before


def laid_out(render: Callable[[str], str], source: str, seconds: float = SECONDS) -> str:
    """Return `render(source)`, within a limit of CPU time. Raises `TooMuchError`."""
    if len(source) <= SHORT:
        try:
            return render(source)
        except RecursionError:
            raise TooMuchError("This text is nested too deep to be laid out.") from None
    if len(source) > MAX_LONG or not hasattr(os, "fork"):
        raise TooMuchError(f"This text of {len(source):,} characters is too long to be laid out.")
    text = _in_a_child(render, source, seconds)
    if text is None:
        raise TooMuchError("This text is nested too deep, or too long, to be laid out.")
    return text


def _used() -> float:
    """Return the CPU time of this process and of the children that it has waited for."""
    return sum(os.times()[:4])


def _in_a_child(render: Callable[[str], str], source: str, seconds: float) -> str | None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _work(writer, render, source, seconds)
    os.close(writer)
    pieces = bytearray()
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        whole = _read(pipe, pieces, time.monotonic() + _WALL * seconds)
        if not whole:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return pieces.decode("utf-8", "replace") if whole and status == 0 else None


def _read(pipe: FileIO, pieces: bytearray, deadline: float) -> bool:
    """Return whether everything that was written is in the `pieces` now."""
    while len(pieces) <= _MAX_LAID_OUT:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            return False
        piece = pipe.read(1 << 16)
        if not piece:
            return True
        pieces += piece
    return False


def _work(writer: int, render: Callable[[str], str], source: str, seconds: float) -> NoReturn:
    """Lay out, write, and end, unless a limit ends the child first."""
    status = 1
    try:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError), open("/proc/self/statm") as sizes:
            size = int(sizes.read().split()[0]) * resource.getpagesize() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
        text = render(source).encode("utf-8", "replace")
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(text)
        status = 0
    finally:
        os._exit(status)
