"""Charts of what a model computes: a matrix as shades, numbers as curves, a table of positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.pictures.style import (
    COLOURS,
    DASHES,
    INK,
    MARKS,
    PAPER,
    SHADES,
    look,
    new_figure,
    readable,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike, NDArray

# Up to so many cells, in all and in a row, each has its number in it.
_MOST_NUMBERS, _MOST_IN_A_ROW = 80, 12
_MOST_TICKS = 26
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_MARKS = 12


def heat_map(
    matrix: ArrayLike,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    title: str = "",
    *,
    row_axis: str = "",
    column_axis: str = "",
    limits: tuple[float, float] | None = None,
) -> Figure:
    """A matrix, `(rows, columns)`, as shades from dark (small) to light (large).

    `rows` and `columns` are the names beside the cells, such as the characters of two texts; none
    means their numbers. `limits` are the values of the darkest and the lightest shade; by default
    0 and the largest, or the smallest if that is below 0.
    """
    numbers = np.asarray(matrix, dtype=float)
    height, width = numbers.shape
    with look():
        figure = new_figure(
            *(min(max(size, 2.6), 14.0) for size in (1.9 + 0.27 * width, 1.2 + 0.25 * height))
        )
        axes = figure.subplots()
        drawn = draw_matrix(axes, numbers, rows, columns, limits)
        axes.set_xlabel(column_axis)
        axes.set_ylabel(row_axis)
        figure.suptitle(title, fontsize=11)
        figure.colorbar(drawn, ax=axes, shrink=0.8, pad=0.02).outline.set_visible(False)
    return figure


def curves(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str = "",
    *,
    x_axis: str = "",
    y_axis: str = "",
) -> Figure:
    """Lines by name, each an (x, y) of the same length, told apart by colour, dashes and marks."""
    with look():
        figure = new_figure(6.4, 3.6)
        axes = figure.subplots()
        for index, (name, (x, y)) in enumerate(lines.items()):
            draw_line(axes, x, y, name, index)
        axes.set_xlabel(x_axis)
        axes.set_ylabel(y_axis)
        if len(lines) > 1:
            axes.legend()
        figure.suptitle(title, fontsize=11)
    return figure


def positions(table: ArrayLike, title: str = "Positions") -> Figure:
    """A table of positions, `(positions, features)`, beside how alike its rows are.

    On the right the cosine of every two rows: in a good table it depends on their distance alone,
    so that stripes run along the diagonal.
    """
    numbers = np.asarray(table, dtype=float)
    lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    unit = numbers / np.where(lengths > 0, lengths, 1.0)
    with look():
        figure = new_figure(8.4, 3.9)
        left, right = figure.subplots(1, 2)
        most = float(np.abs(numbers).max(initial=0.0)) or 1.0
        for axes, matrix, limit, heading, across in (
            (left, numbers, most, "the table", "feature"),
            (right, unit @ unit.T, 1.0, "how alike two positions are (cosine)", "position"),
        ):
            drawn = draw_matrix(axes, matrix, (), (), (-limit, limit), square=matrix is not numbers)
            axes.set_title(heading)
            axes.set_xlabel(across)
            axes.set_ylabel("position")
            figure.colorbar(drawn, ax=axes, shrink=0.8, pad=0.02).outline.set_visible(False)
        figure.suptitle(title, fontsize=11)
    return figure


def draw_matrix(
    axes: Axes,
    numbers: NDArray[Any],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    limits: tuple[float, float] | None = None,
    *,
    square: bool = False,
    whole: bool = False,
) -> AxesImage:
    """Draws a matrix on axes that are there; few numbers stand in their cells, too.

    Cells without a finite number stay white, with NaN or inf in them. `whole` writes the numbers
    without a point.
    """
    finite = np.isfinite(numbers)
    low, high = limits or _limits(numbers[finite])
    drawn = axes.imshow(
        np.where(finite, numbers, np.nan),
        cmap=SHADES,
        vmin=low,
        vmax=high,
        aspect="equal" if square else "auto",
        interpolation="nearest",
    )
    for side in axes.spines.values():
        side.set_visible(False)
    _ticks(axes, "x", columns, numbers.shape[1])
    _ticks(axes, "y", rows, numbers.shape[0])
    if numbers.size <= _MOST_NUMBERS and numbers.shape[1] <= _MOST_IN_A_ROW:
        for (row, column), number in np.ndenumerate(numbers):
            share = (number - low) / (high - low) if math.isfinite(number) else 1.0
            axes.text(
                column,
                row,
                _number(float(number), whole),
                ha="center",
                va="center",
                fontsize=7.5,
                color=PAPER if share < 0.55 else INK,
            )
    return drawn


def draw_line(
    axes: Axes, x: Sequence[float], y: Sequence[float], name: str, index: int, **more: Any
) -> None:
    """Draws the line number `index`, in its own colour, dashes and marks."""
    wanted: dict[str, Any] = {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKS[index % len(MARKS)],
        "markevery": max(1, len(x) // _MOST_MARKS),
    }
    axes.plot(x, y, label=name, **(wanted | more))
    axes.grid(True, axis="y", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)


def _limits(numbers: NDArray[Any]) -> tuple[float, float]:
    low = min(0.0, float(numbers.min(initial=0.0)))
    high = float(numbers.max(initial=low))
    return low, high if high > low else low + 1.0


def _ticks(axes: Axes, which: str, names: Sequence[str], size: int) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    step = next(one for one in _STEPS if size <= one * _MOST_TICKS)
    places = list(range(0, size, 1 if names else step))
    labels = readable(names) if names else [str(place) for place in places]
    axis.set_ticks(places, labels)
    axis.set_tick_params(length=0, labelsize=8 if size <= _MOST_TICKS else 6.5)
    longest = max((len(name) for name in names), default=0)
    if which == "x" and longest > 2:
        axis.set_tick_params(rotation=90 if size > 8 else 30)


def _number(value: float, whole: bool) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return f"{value:.0f}" if whole else f"{value:.2f}"
