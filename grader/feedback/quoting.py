"""A sentence that quotes the student's own numbers, or their own line, from what was found."""

from __future__ import annotations

import math

from grader.feedback.finding import SIDES, Finding, Grid, Place
from grader.feedback.text import grid_texts

_NEAR_ONE = 1e-3
_FAR_FROM_ONE = 5e-3


def numbers(finding: Finding | None) -> str:
    """Return a sentence on the most telling of the wrong numbers; "" if there are none.

    Where there are none, as with a wrong shape, it is the headline.
    """
    if finding is None:
        return ""
    if finding.grid is None:
        raised = "Your code raised" in f"{finding.headline} {finding.help}"
        return "" if finding.places and raised else finding.headline
    if not finding.grid.expected:
        return ""
    return _row_sum(finding.grid) or _cell(finding.grid)


def line(places: tuple[Place, ...], does: str = "") -> str:
    """Return the line of the student's code and what it `does`; "" where none is known."""
    for place in places:
        if place.source:
            where = f"{place.file}, line {place.line}" if place.line else place.file
            return f"{where}{does}: `{place.source}`"
    return ""


def _row_sum(grid: Grid) -> str:
    """For rows that should sum to one, the row whose sum is furthest from it."""
    if grid.sides != SIDES or grid.kind != "float" or any(min(row) < 0 for row in grid.expected):
        return ""
    if any(abs(sum(row) - 1) > _NEAR_ONE for row in grid.expected):
        return ""
    sums = [sum(row) for row in grid.yours]
    off = [abs(total - 1) if math.isfinite(total) else 0.0 for total in sums]
    worst = off.index(max(off))
    if off[worst] < _FAR_FROM_ONE:
        return ""
    return f"{_capital(grid.rows[worst])} of your output sums to {sums[worst]:.2f}, not to 1."


def _cell(grid: Grid) -> str:
    """Return the wrong number that is furthest off; NaN counts as the furthest."""
    wrong = [
        (_distance(number, right), row, column)
        for row, (marks, yours, expected) in enumerate(
            zip(grid.differs, grid.yours, grid.expected, strict=True)
        )
        for column, (differs, number, right) in enumerate(zip(marks, yours, expected, strict=True))
        if differs
    ]
    if not wrong:
        return ""
    _, row, column = max(wrong, key=lambda entry: entry[0])
    yours, expected = grid_texts(grid)
    where = f"{grid.rows[row]}, {grid.columns[column]}"
    left, right = yours[row][column], expected[row][column]
    if grid.sides != SIDES:
        return f"At {where} your code gives {left} ({grid.sides[0]}) and {right} ({grid.sides[1]})."
    return f"At {where} you have {left}; {right} is expected."


def _distance(number: float, right: float) -> float:
    off = abs(number - right)
    return math.inf if math.isnan(off) else off


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
