"""Reading a submitted file, which may turn out to be anything but a regular file."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read(path: Path, limit: int) -> bytes:
    """Return what a plain file holds, as far as one byte over the limit, by which it shows.

    Raises `OSError`, and `ValueError` for a link, a folder, a pipe or a device.
    """
    if path.is_symlink():
        raise ValueError("it is a link; submit the file itself")
    # The opened descriptor itself is checked, and opening a pipe without a writer does not block.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise ValueError("it is not a plain file")
        return opened.read(limit + 1)
