"""Keep edited copies of a student's code from doing what the code itself does not do.

With an inverted condition or a swapped number, a copy might delete a file or fill the memory of the
student's machine. Python tells audit hooks what reaches out of the process:
https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

MEMORY = 1 << 30  # bytes for all edited copies, far more than public tests need
_PAGES = Path("/proc/self/statm")  # the number of pages of this process: proc(5)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REACHING = ("os.", "shutil.", "subprocess.", "socket.", "builtins.", "webbrowser.", "pty.")
_LOOKING = {
    "os.fwalk", "os.getxattr", "os.listdir", "os.listxattr", "os.scandir", "os.walk", "builtins.id",
    "builtins.input/result",
}  # fmt: skip


@dataclass
class Watch:
    """Whether the code of a file has reached `out` of the process, and whether it `may`."""

    file: str
    may: bool
    out: bool = False


_watch: Watch | None = None
_is_hooked = False


@contextmanager
def watched(file: str, may: bool) -> Iterator[Watch]:
    """Note whether the code of a file reaches out of the process, and refuse it unless it `may`.

    Reaching out is writing a file, starting a program, using the network or asking for input.
    """
    global _watch, _is_hooked
    if not _is_hooked:  # a hook can't be removed
        sys.addaudithook(_hook)
        _is_hooked = True
    before, _watch = _watch, Watch(file, may)
    try:
        yield _watch
    finally:
        _watch = before


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watch is None or not _reaches_out(event, arguments):
        return
    if _is_by(_watch.file, sys._getframe(1)):
        _watch.out = True
        if not _watch.may:
            raise PermissionError(f"an edited copy of a student's code may not do this: {event}")


def _reaches_out(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        flags = arguments[2]
        return isinstance(flags, int) and bool(flags & _WRITING)
    return event.startswith(_REACHING) and event not in _LOOKING


def _is_by(file: str, frame: FrameType | None) -> bool:
    """Return whether code of the file is running, other than by importing a module."""
    while frame is not None:
        if frame.f_code.co_filename == file:
            return True
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    return False


@contextmanager
def limited_memory(more: int = MEMORY) -> Iterator[None]:
    """Give the process at most `more` bytes of additional memory in this block; on Linux only.

    Meanwhile torch starts no threads: without room for one it would end the process.
    """
    if not _PAGES.exists():
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = int(_PAGES.read_text().split()[0]) * resource.getpagesize() + more
    limits = [limit, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        torch.set_num_threads(threads)
