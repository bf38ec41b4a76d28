"""What is wrong, as data: a headline, a small grid of numbers, a helping sentence, places in code.

Nothing here is made of words that a reader would see laid out: `feedback.text` and `feedback.html`
show a finding, on a terminal, a page, in a notebook and on the board.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated


class Status(StrEnum):
    """The outcome of a check, an exercise or a public test. The values are those in the JSON."""

    PASSED = "passed"
    FAILED = "failed"
    TODO = "todo"
    MISSING = "missing"
    ERROR = "error"
    TIMEOUT = "timeout"
    DIED = "died"
    PROTOCOL = "protocol"
    NOT_RUN = "not_run"
    GRADER_ERROR = "grader_error"


SIDES = ("yours", "expected")  # of a grid: an answer, and the right one
MODIFIED = ("after", "before")  # what was given, after the call and before it


@dataclass(frozen=True)
class Place:
    """A line of the student's code: its file or cell, and its text.

    `line` counts from 1 and is 0 where it is not known; `inside` is the function or class around.
    """

    file: str
    line: int = 0
    source: str = ""
    inside: str = ""


@dataclass(frozen=True)
class Grid:
    """A piece of two tensors, cut to a size that fits a terminal.

    `yours` and `expected` hold plain floats, row by row (1.0 and 0.0 for True and False);
    `expected` is empty where there is nothing to compare with. `differs` marks the wrong cells.
    `rows` and `columns` name the axis and the index of each ("query 0"), `where` says which slice
    this is and what was left out, `kind` is "float", "int" or "bool".
    """

    yours: tuple[tuple[float, ...], ...]
    expected: tuple[tuple[float, ...], ...]
    differs: tuple[tuple[bool, ...], ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    where: str = ""
    sides: tuple[str, str] = SIDES
    kind: str = "float"


def rectangular(grid: Grid) -> Grid:
    """Return the grid, read from JSON. Raises ValueError if its rows are not as its names say."""
    widths = [len(grid.columns)] * len(grid.rows)
    if not all(widths or [0]):
        raise ValueError("a grid has no numbers")
    for part in (grid.yours, grid.differs, grid.expected or grid.yours):
        if [*map(len, part)] != widths:
            raise ValueError("the rows of a grid are of different lengths")
    return grid


@dataclass(frozen=True)
class Finding:
    """A message to the author of the code: what is wrong, the numbers, and what helps."""

    headline: str
    grid: Annotated[Grid, rectangular] | None = None
    help: str = ""
    places: tuple[Place, ...] = ()
