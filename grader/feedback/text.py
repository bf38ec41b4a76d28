"""A finding as lines of text: for a terminal, an editor, and wherever no picture can stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest

from grader.feedback.finding import Finding, Grid, Place, Status

# One piece of a line: its text, and whether it is a number that is wrong.
Piece = tuple[str, bool]
Line = list[Piece]

WORDS: dict[Status, str] = {
    Status.PASSED: "right",
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


def plain(finding: Finding | None) -> str:
    """All of a finding as plain text, the wrong numbers starred; "" for none."""
    if finding is None:
        return ""
    shown = [*map(flattened, lines(finding)), *(f"  {place(one)}" for one in finding.places)]
    return "\n".join(shown)


def flattened(line: Line) -> str:
    """A line without its marks."""
    return "".join(text for text, _ in line).rstrip()


def lines(finding: Finding) -> list[Line]:
    """Headline, grid and help of a finding; its places are left to whoever shows it."""
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


def place(one: Place) -> str:
    """A place in one line: "attention.py, line 3: return value"."""
    where = f"{one.file}, line {one.line}" if one.line else one.file
    return f"{where}: {one.source}" if one.source else where


def grid_lines(grid: Grid) -> list[Line]:
    """The grid line by line, each line made of pieces, the wrong numbers marked and starred."""
    yours, expected = grid_texts(grid)
    axis, numbers = axis_of(grid.columns)
    cells = [text for row in (*yours, *expected) for text in row] + numbers
    width = max(map(len, cells)) + 1
    label = max(map(len, (axis, *grid.rows)))
    shown: list[Line] = [[(grid.where, False)]] if grid.where else []
    half = (width + 1) * len(grid.columns)
    title = f"{'':{label}} {'  ' + grid.sides[0]:<{half}}"
    header = f"{axis:>{label}} {_row(numbers, width)}"
    if expected:
        title += f"   {'  ' + grid.sides[1]}"
        header += f"   {_row(numbers, width)}"
    shown += [[(title.rstrip(), False)], [(header.rstrip(), False)]]
    for name, mine, marks, right in zip_longest(grid.rows, yours, grid.differs, expected):
        line: Line = [(f"{name:>{label}} ", False)]
        for text, wrong in zip(mine, marks, strict=True):
            line.append((f"{text:>{width}}{'*' if wrong else ' '}", wrong))
        if right:
            line.append((f"   {_row(right, width)}".rstrip(), False))
        shown.append(line)
    return shown


def grid_texts(grid: Grid) -> tuple[list[list[str]], list[list[str]]]:
    """The cells of both halves as text, with as many digits as show the difference."""
    for digits in range(3, 10):
        yours = [[_number(value, grid.kind, digits) for value in row] for row in grid.yours]
        expected = [[_number(value, grid.kind, digits) for value in row] for row in grid.expected]
        cells = zip(*map(chain.from_iterable, (yours, expected, grid.differs)), strict=False)
        if all(mine != right for mine, right, differs in cells if differs):
            break
    return yours, expected


def axis_of(names: Sequence[str]) -> tuple[str, list[str]]:
    """The name of an axis and its indices, of names such as "query 0", "query 1"."""
    axis = names[0].rpartition(" ")[0] if names else ""
    return axis, [name.rpartition(" ")[2] for name in names]


def _row(cells: Sequence[str], width: int) -> str:
    return "".join(f"{text:>{width}} " for text in cells)


def _number(value: float, kind: str, digits: int) -> str:
    if kind == "bool":
        return "True" if value else "False"
    if kind == "int":
        return str(int(value))
    if value != value:
        return "NaN"
    if abs(value) == float("inf"):
        return "inf" if value > 0 else "-inf"
    if value == 0 or 10.0**-digits <= abs(value) < 1e5:
        return f"{value:.{digits}f}"
    return f"{value:.{digits - 1}e}"
