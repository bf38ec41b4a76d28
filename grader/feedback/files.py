"""Writing a file in one step, in a folder that may hold what somebody else put there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write beside `path`, and put it there if the block succeeds.

    A link there is replaced, too, and what it leads to stays as it is. Raises `OSError`.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def replace(path: Path, content: bytes, flush: Callable[[int], None] | None = None) -> None:
    """Let `path` be a file with this content, whole or not at all. Raises `OSError`."""
    with replacing(path) as beside, beside.open("xb") as file:
        file.write(content)
        file.flush()
        if flush is not None:
            flush(file.fileno())
