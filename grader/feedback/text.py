"""A finding as lines of text: for terminals, editors and wherever pictures can't be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from grader.feedback.finding import Finding, Grid, Place, Status

# One piece of a line: its text, and whether it is a number that is wrong.
Piece = tuple[str, bool]
Line = list[Piece]

# Columns that a terminal has at least, without the indentation of a message.
MAX_WIDTH = 76
_GAP = "   "
# Numbers as large or as small as this are all written with an exponent.
_SMALLEST, _LARGEST = 1e-3, 1e5

WORDS: dict[Status, str] = {
    Status.PASSED: "passed",
    Status.FAILED: "wrong",
    Status.TODO: "to do",
    Status.MISSING: "missing",
    Status.ERROR: "error",
    Status.TIMEOUT: "did not end",
    Status.DIED: "died",
    Status.PROTOCOL: "died",
    Status.NOT_RUN: "not run",
    Status.GRADER_ERROR: "not graded",
}


def printable(text: str) -> str:
    """Return a text without what a terminal or a page obeys: control codes, reversed writing."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def plain(finding: Finding | None) -> str:
    """Return all of a finding as plain text, the wrong numbers starred; "" for none."""
    if finding is None:
        return ""
    shown = [*map(flattened, lines(finding)), *(f"  {place(where)}" for where in finding.places)]
    return "\n".join(shown)


def flattened(line: Line) -> str:
    """Return a line without its marks."""
    return "".join(text for text, _ in line).rstrip()


def lines(finding: Finding) -> list[Line]:
    """Return headline, grid and help of a finding; the caller shows its places."""
    shown = _prose(finding.headline)
    if finding.grid is not None:
        shown.append([])
        shown += [[("  ", False), *line] for line in grid_lines(finding.grid)]
    if finding.help:
        if finding.grid is not None:
            shown.append([])
        shown += _prose(finding.help)
    return shown


def _prose(text: str) -> list[Line]:
    return [[(line, False)] for line in text.split("\n")]


def place(spot: Place) -> str:
    """Return a place in spot line: "attention.py, line 3: return value"."""
    where = f"{spot.file}, line {spot.line}" if spot.line else spot.file
    return f"{where}: {spot.source}" if spot.source else where


def grid_lines(grid: Grid) -> list[Line]:
    """Return the grid line by line, each line made of pieces, the wrong numbers marked and starred.

    The two halves are side by side where there is room, otherwise one below the other.
    """
    yours, expected = grid_texts(grid)
    axis, numbers = axis_of(grid.columns)
    width = max(map(len, [*chain.from_iterable((*yours, *expected)), *numbers])) + 1
    label = max(map(len, (axis, *grid.rows)))
    half = (width + 1) * len(grid.columns)
    if label + 1 + half > MAX_WIDTH and len(grid.columns) > 1:
        return grid_lines(_without_a_column(grid))
    header = f"{axis:>{label}} {_row(numbers, width)}"
    left = [
        [(f"{'':{label}}   {grid.sides[0]}", False)],
        [(header, False)],
        *(
            [(f"{name:>{label}} ", False)]
            + [(f"{text:>{width}}{'*' if no else ' '}", no) for text, no in zip(*row, strict=True)]
            for name, *row in zip(grid.rows, yours, grid.differs, strict=True)
        ),
    ]
    shown: list[Line] = [[(grid.where, False)]] if grid.where else []
    if not expected:
        return shown + list(map(_stripped, left))
    right = [f"  {grid.sides[1]}", _row(numbers, width), *(_row(row, width) for row in expected)]
    if label + 1 + 2 * half + len(_GAP) <= MAX_WIDTH:
        for line, text in zip(left, right, strict=True):
            room = label + 1 + half - len("".join(piece for piece, _ in line))
            shown.append(_stripped([*line, (" " * room + _GAP + text, False)]))
        return shown
    below = [
        [(f"{'':{label}} {right[0]}", False)],
        *(
            [(f"{name:>{label}} {text}", False)]
            for name, text in zip(grid.rows, right[2:], strict=True)
        ),
    ]
    return shown + list(map(_stripped, [*left, *below]))


def _without_a_column(grid: Grid) -> Grid:
    """Return the grid without its first or last column, whichever has fewer wrong numbers."""
    first, last = (sum(row[column] for row in grid.differs) for column in (0, -1))
    kept = slice(None, -1) if first >= last else slice(1, None)
    return replace(
        grid,
        yours=tuple(row[kept] for row in grid.yours),
        expected=tuple(row[kept] for row in grid.expected),
        differs=tuple(row[kept] for row in grid.differs),
        columns=grid.columns[kept],
    )


def _stripped(line: Line) -> Line:
    """Return a line without spaces at its end."""
    text, wrong = line[-1]
    return [*line[:-1], (text.rstrip(), wrong)]


def grid_texts(grid: Grid) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cells of both halves as text.

    All in one format, with as many digits as show the difference.
    """
    for pattern in _formats(grid):
        yours = [[_number(value, grid.kind, pattern) for value in row] for row in grid.yours]
        expected = [[_number(value, grid.kind, pattern) for value in row] for row in grid.expected]
        cells = zip(*map(chain.from_iterable, (yours, expected, grid.differs)), strict=False)
        if all(number != right for number, right, differs in cells if differs):
            break
    return yours, expected


def _formats(grid: Grid) -> list[str]:
    """Return the formats of a grid's numbers to try, the shortest first."""
    sizes = [abs(value) for row in (*grid.yours, *grid.expected) for value in row]
    sizes = [size for size in sizes if math.isfinite(size)]
    fixed = [f".{digits}f" for digits in range(3, 7)]
    scientific = [f".{digits}e" for digits in range(2, 9)]
    largest = max(sizes, default=0.0)
    return [*fixed, *scientific] if _SMALLEST <= largest < _LARGEST or not largest else scientific


def axis_of(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of an axis and its indices, of names such as "query 0", "query 1"."""
    axis = names[0].rpartition(" ")[0] if names else ""
    return axis, [name.rpartition(" ")[2] for name in names]


def _row(cells: Sequence[str], width: int) -> str:
    return "".join(f"{text:>{width}} " for text in cells)


def _number(value: float, kind: str, pattern: str) -> str:
    if kind == "bool":
        return "True" if value else "False"
    if kind == "int":
        return str(int(value))
    if value != value:
        return "NaN"
    if abs(value) == float("inf"):
        return "inf" if value > 0 else "-inf"
    text = format(value, pattern)
    return text.removeprefix("-") if not float(text) else text
