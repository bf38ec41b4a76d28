"""Charts of what a model computes: attention as shades, curves, tables of positions, points."""

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
    spelled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike, NDArray

# Up to this many cells, in all and per row, each shows its number.
_MOST_NUMBERS, _MOST_IN_A_ROW = 80, 12
_MOST_TICKS = 26
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_MARKS = 12


def attention_heads(
    weights: Sequence[Sequence[ArrayLike]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    row_axis: str = "",
    column_axis: str = "",
) -> Figure:
    """Return what each head of each layer attends to, a row of matrices for each layer.

    `weights[layer][head]` is `(rows, columns)`; `rows` name the queries, `columns` the keys.
    """
    layers = [[np.asarray(head, dtype=float) for head in heads] for heads in weights]
    most = max(map(len, layers))
    width = min(max(0.6 + 0.13 * len(columns), 2.0), 5.0)
    height = min(max(0.7 + 0.16 * len(rows), 1.8), 5.0)
    with look():
        figure = new_figure(width * most + 0.8, height * len(layers) + 0.5)
        grid = figure.subplots(len(layers), most, squeeze=False)
        for number, (heads, row) in enumerate(zip(layers, grid, strict=True), 1):
            for axes in row[len(heads) :]:
                axes.set_axis_off()
            for head, (matrix, axes) in enumerate(zip(heads, row, strict=False), 1):
                drawn = draw_matrix(axes, matrix, rows, columns, (0.0, 1.0), numbered=False)
                axes.tick_params(labelsize=6)
                of_layer = f"layer {number}, " if len(layers) > 1 else ""
                axes.set_title(f"{of_layer}head {head}", fontsize=8.5)
                axes.set_xlabel(column_axis if number == len(layers) else "")
                axes.set_ylabel(row_axis if head == 1 else "")
        figure.suptitle(spelled(title), fontsize=11)
        figure.colorbar(drawn, ax=grid, shrink=0.6, pad=0.01).outline.set_visible(False)
    return figure


def curves(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str = "",
    *,
    x_axis: str = "",
    y_axis: str = "",
) -> Figure:
    """Draw lines by name, each a pair (x, y), distinguished by colour, dashes and marks."""
    with look():
        figure = new_figure(6.4, 3.6)
        axes = figure.subplots()
        for index, (name, (x, y)) in enumerate(lines.items()):
            draw_line(axes, x, y, name, index)
        axes.set_xlabel(x_axis)
        axes.set_ylabel(y_axis)
        if len(lines) > 1:
            axes.legend()
        figure.suptitle(spelled(title), fontsize=11)
    return figure


def positions(table: ArrayLike, title: str = "Positions") -> Figure:
    """Return a table of positions, `(positions, features)`, beside how alike its rows are.

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
        figure.suptitle(spelled(title), fontsize=11)
    return figure


def scatter(groups: Mapping[str, Mapping[str, Sequence[float]]], title: str = "") -> Figure:
    """Return labelled points in the plane, `groups[group][label]`, each a pair (x, y).

    Groups differ in their colours and marks; the label stands beside its point.
    """
    with look():
        figure = new_figure(7.2, 5.6)
        axes = figure.subplots()
        for index, (group, points) in enumerate(groups.items()):
            colour = COLOURS[index % len(COLOURS)]
            x, y = zip(*points.values(), strict=True)
            axes.scatter(x, y, s=9, color=colour, marker=MARKS[index % len(MARKS)], label=group)
            for label, point in zip(readable(list(points)), zip(x, y, strict=True), strict=True):
                axes.annotate(
                    label, point, (3, 2), textcoords="offset points", color=colour, fontsize=8
                )
        axes.set_xlabel("first principal axis")
        axes.set_ylabel("second principal axis")
        axes.legend()
        figure.suptitle(spelled(title), fontsize=11)
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
    numbered: bool = True,
) -> AxesImage:
    """Draw a matrix on existing axes; if there are few numbers, the cells show them.

    Cells without a finite number stay white, with NaN or inf in them. `whole` writes the numbers
    without a point; unless `numbered` there are none.
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
    if numbered and numbers.size <= _MOST_NUMBERS and numbers.shape[1] <= _MOST_IN_A_ROW:
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
    """Draw the line number `index`, in its own colour, dashes and marks."""
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


def _ticks(axes: Axes, side: str, names: Sequence[str], size: int) -> None:
    axis = axes.xaxis if side == "x" else axes.yaxis
    step = next(width for width in _STEPS if size <= width * _MOST_TICKS)
    positions = list(range(0, size, 1 if names else step))
    labels = readable(names) if names else [str(position) for position in positions]
    axis.set_ticks(positions, labels)
    axis.set_tick_params(length=0, labelsize=8 if size <= _MOST_TICKS else 6.5)
    longest = max((len(name) for name in names), default=0)
    if side == "x" and longest > 2:
        axis.set_tick_params(rotation=90 if size > 8 else 30)


def _number(value: float, whole: bool) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return f"{value:.0f}" if whole else f"{value:.2f}"
