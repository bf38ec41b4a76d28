"""What is wrong with a result, as data: a headline, a small grid of numbers, a helping sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

import torch
from torch import Tensor

_MAX_ROWS = 5
_MAX_COLUMNS = 4

# One piece of a line: its text, and whether it is a number that is wrong.
Piece = tuple[str, bool]


@dataclass(frozen=True)
class Grid:
    """A piece of two tensors, cut to a size that fits a terminal.

    `yours` and `expected` hold plain floats, row by row (1.0 and 0.0 for True and False);
    `expected` is empty where there is nothing to compare with. `differs` marks the wrong cells.
    `where` says which slice this is and what was left out.
    """

    yours: tuple[tuple[float, ...], ...]
    expected: tuple[tuple[float, ...], ...]
    differs: tuple[tuple[bool, ...], ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    where: str = ""
    sides: tuple[str, str] = ("yours", "expected")
    kind: str = "float"

    def texts(self) -> tuple[list[list[str]], list[list[str]]]:
        """The cells of both halves as text, with as many digits as show the difference."""
        for digits in range(3, 10):
            yours = [[self._text(value, digits) for value in row] for row in self.yours]
            expected = [[self._text(value, digits) for value in row] for row in self.expected]
            cells = zip(*map(chain.from_iterable, (yours, expected, self.differs)), strict=False)
            if all(mine != right for mine, right, differs in cells if differs):
                break
        return yours, expected

    def lines(self) -> list[list[Piece]]:
        """The grid line by line, each line made of pieces, the wrong numbers marked and starred."""
        yours, expected = self.texts()
        # The axis is named once, in front of the numbers of its columns.
        axis = self.columns[0].rpartition(" ")[0] if self.columns else ""
        numbers = [column.rpartition(" ")[2] for column in self.columns]
        cells = [text for row in (*yours, *expected) for text in row] + numbers
        width = max(map(len, cells)) + 1
        label = max(map(len, (axis, *self.rows)))
        lines: list[list[Piece]] = [[(self.where, False)]] if self.where else []
        half = (width + 1) * len(self.columns)
        title = f"{'':{label}} {'  ' + self.sides[0]:<{half}}"
        header = f"{axis:>{label}} {self._row(numbers, width)}"
        if expected:
            title += f"   {'  ' + self.sides[1]}"
            header += f"   {self._row(numbers, width)}"
        lines += [[(title.rstrip(), False)], [(header.rstrip(), False)]]
        for name, mine, marks, right in zip_longest(self.rows, yours, self.differs, expected):
            line: list[Piece] = [(f"{name:>{label}} ", False)]
            for text, wrong in zip(mine, marks, strict=True):
                line.append((f"{text:>{width}}{'*' if wrong else ' '}", wrong))
            if right:
                line.append((f"   {self._row(right, width)}".rstrip(), False))
            lines.append(line)
        return lines

    def _row(self, cells: Sequence[str], width: int) -> str:
        return "".join(f"{text:>{width}} " for text in cells)

    def _text(self, value: float, digits: int) -> str:
        if self.kind == "bool":
            return "True" if value else "False"
        if self.kind == "int":
            return str(int(value))
        if value != value:
            return "NaN"
        if abs(value) == float("inf"):
            return "inf" if value > 0 else "-inf"
        if value == 0 or 10.0**-digits <= abs(value) < 1e5:
            return f"{value:.{digits}f}"
        return f"{value:.{digits - 1}e}"


class Mismatch(AssertionError):  # noqa: N818 - the student's result differs, no error of ours
    """A result that is not what it should be, told for the person who wrote the code."""

    def __init__(
        self, headline: str, grid: Grid | None = None, help: str = "", points_at: str = "return"
    ) -> None:
        """Make one from a sentence, the numbers to show, and a sentence that leads on.

        `points_at` says where in the code the reason is to be looked for: at its "return", in its
        "__init__" or anywhere in it, "def".
        """
        super().__init__(headline, grid, help, points_at)
        self.headline = headline
        self.grid = grid
        self.help = help
        self.points_at = points_at

    def lines(self) -> list[list[Piece]]:
        """The whole message line by line, in the form of `Grid.lines`."""
        lines: list[list[Piece]] = [[(self.headline, False)]]
        if self.grid is not None:
            lines.append([])
            lines += [[("  ", False), *line] for line in self.grid.lines()]
        if self.help:
            if self.grid is not None:
                lines.append([])
            lines.append([(self.help, False)])
        return lines

    def __str__(self) -> str:
        """The message as plain text."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines())


def cut_grid(
    yours: Tensor,
    expected: Tensor | None,
    wrong: Tensor,
    axes: Sequence[str] = (),
    sides: tuple[str, str] = ("yours", "expected"),
) -> Grid | None:
    """The two-dimensional slice around the worst wrong number, at most 5 by 4.

    The three tensors have one shape; `wrong` is boolean. None when nothing is wrong.
    """
    if not wrong.any().item():
        return None
    place = _worst(yours, expected, wrong)
    names = list(axes) if len(axes) == wrong.dim() else [""] * wrong.dim()
    while len(place) < 2:
        place, names = [0, *place], ["", *names]
        yours, wrong = yours.unsqueeze(0), wrong.unsqueeze(0)
        expected = None if expected is None else expected.unsqueeze(0)
    lead = tuple(place[:-2])
    rows = _window(place[-2], wrong.shape[-2], _MAX_ROWS)
    columns = _window(place[-1], wrong.shape[-1], _MAX_COLUMNS)

    def cut(tensor: Tensor) -> list[list[float]]:
        part = tensor[lead][rows.start : rows.stop, columns.start : columns.stop]
        return part.to(torch.float64).tolist() if not part.is_complex() else part.abs().tolist()

    return Grid(
        yours=tuple(map(tuple, cut(yours))),
        expected=() if expected is None else tuple(map(tuple, cut(expected))),
        differs=tuple(tuple(bool(cell) for cell in row) for row in cut(wrong)),
        rows=tuple(f"{names[-2] or 'row'} {i}" for i in rows),
        columns=tuple(f"{names[-1] or 'col'} {i}" for i in columns),
        where=_where(lead, names, rows, columns, wrong),
        sides=sides,
        kind=_kind(yours),
    )


def _worst(yours: Tensor, expected: Tensor | None, wrong: Tensor) -> list[int]:
    """The place of the wrong number that is furthest off; NaN is furthest of all."""
    badness = wrong.to(torch.float64)
    if expected is not None and not yours.is_complex():
        off = (yours.to(torch.float64) - expected.to(torch.float64)).abs()
        badness = torch.where(wrong, 1.0 + off.nan_to_num(nan=torch.inf), 0.0)
    flat = int(badness.argmax().item())
    place = []
    for size in reversed(wrong.shape):
        place.append(flat % size)
        flat //= size
    return place[::-1]


def _window(center: int, size: int, width: int) -> range:
    """At most `width` consecutive indices of `size`, with `center` among them."""
    start = max(0, min(center - width // 2, size - width))
    return range(start, min(size, start + width))


def _where(
    lead: tuple[int, ...], names: Sequence[str], rows: range, columns: range, wrong: Tensor
) -> str:
    parts = []
    if lead:
        named = [f"{name} {i}" for name, i in zip(names, lead, strict=False) if name]
        parts.append(", ".join(named) if named else f"[{', '.join(map(str, lead))}]")
        slices = wrong.flatten(0, -3).any(-1).any(-1)
        if len(slices) > 1:
            count = int(slices.sum().item())
            parts[0] += f" (the worst of {len(slices)} slices; {count} {_are(count)} wrong)"
    cut = [
        f"{len(shown)} of {size} {kind}"
        for shown, size, kind in (
            (rows, wrong.shape[-2], "rows"),
            (columns, wrong.shape[-1], "columns"),
        )
        if len(shown) < size
    ]
    if cut:
        parts.append(f"shown: {', '.join(cut)}")
    return "; ".join(parts)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _kind(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "bool"
    return "float" if tensor.is_floating_point() or tensor.is_complex() else "int"
