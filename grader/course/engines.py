"""One engine for nbgrader's gradebook, for as long as one of nbgrader's commands converts.

nbgrader opens its gradebook ten times for each notebook, each time with an engine of its own that
compiles every query anew. One engine for a database remembers them; closing the gradebook still
closes its connections (https://docs.sqlalchemy.org/en/20/core/connections.html, engine disposal).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nbgrader.api


@contextmanager
def one_engine() -> Iterator[None]:
    """In the block, every gradebook on one database has the same engine."""
    stock = nbgrader.api.create_engine
    nbgrader.api.create_engine = functools.cache(stock)
    try:
        yield
    finally:
        nbgrader.api.create_engine = stock


def convert_with_one_engine(converter: Any) -> None:
    """Make this one converter of nbgrader's, which is about to start, convert with one engine."""
    convert = converter.convert_notebooks

    def converted() -> None:
        with one_engine():
            convert()

    converter.convert_notebooks = converted
