"""Draw what the student's code computes on the left and what is expected on the right."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.pictures.charts import draw_line, draw_matrix
from grader.pictures.panels import Kind, Panel
from grader.pictures.style import EXPECTED, INK, PAPER, QUIET, WRONG, YOURS, look, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import NDArray
    from torch import Tensor

# As `feedback.comparison` judges: off by more than this share of a number and of the largest one.
_TOLERANCE = 2e-5
_WIDTH = 10.5
_FEW = 14


@dataclass(frozen=True)
class Shown:
    """A panel with both its sides, as `Panel.compute` gives them.

    `yours` is None where there is nothing to draw; `words` say then why, and else what is wrong.
    """

    panel: Panel
    expected: Tensor
    yours: Tensor | None = None
    words: str = ""


def side_by_side(exercise: str, shown: Sequence[Shown]) -> Figure:
    """Return a figure with a row for each panel: yours, with differences framed, and expected."""
    drawn = [panel_shown.panel.view(panel_shown.expected).double().numpy() for panel_shown in shown]
    heights = [
        _height(panel_shown.panel, numbers)
        for panel_shown, numbers in zip(shown, drawn, strict=True)
    ]
    with look():
        figure = new_figure(_WIDTH, sum(heights) + 0.5)
        figure.suptitle(f"{exercise}: yours on the left, expected on the right", fontsize=12)
        rows = figure.subfigures(len(shown), 1, squeeze=False, height_ratios=heights)
        for row, panel_shown, numbers in zip(rows[:, 0], shown, drawn, strict=True):
            _draw(row, panel_shown, numbers)
    return figure


def differing(panel: Panel, yours: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of the numbers are wrong; both sides have one shape."""
    largest = float(np.abs(expected).max(initial=0.0))
    limit = _TOLERANCE * (np.abs(expected) + largest) + (panel.tolerance or 0.0)
    # Comparisons with NaN are false.
    wrong: NDArray[np.bool_] = ~(np.abs(yours - expected) <= limit)
    return wrong


def _height(panel: Panel, numbers: NDArray[Any]) -> float:
    if panel.kind is Kind.CURVES:
        return 2.7
    if panel.kind is Kind.POINTS:
        return 3.8
    if panel.kind is Kind.STRIPS:
        return 2.3
    return float(min(1.5 + 0.27 * len(numbers), 4.6))


def _draw(row: SubFigure, panel_shown: Shown, expected: NDArray[Any]) -> None:
    panel = panel_shown.panel
    row.suptitle(panel.title, fontsize=10, fontweight="bold", x=0.02, ha="left")
    left, right = row.subplots(1, 2)
    yours = None if panel_shown.yours is None else panel.view(panel_shown.yours).double().numpy()
    values = expected if yours is None else np.concatenate([expected, yours])
    paint = _PAINTERS.get(panel.kind, _matrix)
    limits = _limits(values, even=panel.kind is not Kind.CURVES)
    paint(right, panel, expected, limits, EXPECTED)
    right.set_title("expected")
    if yours is None:
        _say(left, panel_shown.words)
        return
    wrong = differing(panel, yours, expected)
    if panel.kind is Kind.CURVES:
        for line in expected:
            left.plot(panel.columns, line, color=QUIET, linewidth=1.0, linestyle=":")
    paint(left, panel, yours, limits, YOURS)
    left.set_title(f"yours: {_verdict(wrong)}", color=WRONG if wrong.any() else INK)
    if wrong.any():
        _mark(left, panel, yours, wrong)


def _verdict(wrong: NDArray[np.bool_]) -> str:
    count = int(wrong.sum())
    return f"{count} of {wrong.size} differ (framed or ×)" if count else "as expected"


def _limits(values: NDArray[Any], even: bool) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    if even and low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    return low, high if high > low else low + 1.0


def _matrix(
    axes: Axes, panel: Panel, numbers: NDArray[Any], limits: tuple[float, float], colour: str
) -> None:
    del colour
    names = [str(name) for name in panel.columns]
    drawn = draw_matrix(axes, numbers, panel.rows, names, limits, whole=panel.kind is Kind.WHOLE)
    _label(axes, panel)
    if not axes.texts:
        bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.85, pad=0.02)
        bar.outline.set_visible(False)


def _squares(
    axes: Axes, panel: Panel, numbers: NDArray[Any], limits: tuple[float, float], colour: str
) -> None:
    """True as a full square, False as an empty one."""
    from matplotlib.patches import Rectangle

    del limits, colour
    draw_matrix(axes, np.zeros(numbers.shape), panel.rows, [str(name) for name in panel.columns])
    for image in axes.images:
        image.set_visible(False)
    for text in list(axes.texts):
        text.remove()
    axes.set_aspect("equal")
    for (row, column), value in np.ndenumerate(numbers):
        face = YOURS if value else PAPER
        square = Rectangle((column - 0.42, row - 0.42), 0.84, 0.84, fc=face, ec=QUIET, lw=0.8)
        axes.add_patch(square)
    _label(axes, panel)


def _words(
    axes: Axes, panel: Panel, numbers: NDArray[Any], limits: tuple[float, float], colour: str
) -> None:
    _squares(axes, panel, np.zeros(numbers.shape), limits, colour)
    axes.set_aspect("auto")
    for (row, column), value in np.ndenumerate(numbers):
        known = value in range(len(panel.names))
        axes.text(
            column,
            row,
            panel.names[int(value)] if known else str(int(value)),
            ha="center",
            va="center",
            fontsize=7.5,
        )


def _curves(
    axes: Axes, panel: Panel, numbers: NDArray[Any], limits: tuple[float, float], colour: str
) -> None:
    x = [float(x_value) for x_value in panel.columns]
    for index, (name, line) in enumerate(zip(panel.rows, numbers, strict=True)):
        more = {"color": colour} if len(numbers) == 1 else {}
        draw_line(axes, x, line.tolist(), name, index, **more)
    if len(x) < _FEW and all(x_value.is_integer() for x_value in x):
        axes.set_xticks(x)
    else:
        axes.locator_params(axis="x", nbins=6)
    room = 0.06 * (limits[1] - limits[0])
    axes.set_ylim(min(limits[0], 0.0) - room, limits[1] + room)
    if len(numbers) > 1 and colour == EXPECTED:
        # Once, where it hides no line.
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _label(axes, panel)


def _points(
    axes: Axes, panel: Panel, numbers: NDArray[Any], limits: tuple[float, float], colour: str
) -> None:
    reach = 1.25 * max(abs(limit) for limit in limits)
    for name, (x, y) in zip(panel.rows, numbers.tolist(), strict=True):
        axes.annotate(
            "", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.4}
        )
        axes.text(1.14 * x, 1.14 * y, name, ha="center", va="center", fontsize=8)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    axes.grid(True, color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    _label(axes, panel)


def _strips(
    axes: Axes, panel: Panel, numbers: NDArray[Any], limits: tuple[float, float], colour: str
) -> None:
    for row, values in enumerate(numbers):
        axes.plot(values, np.full(len(values), row), "|", color=colour, markersize=13)
        axes.plot(values.mean(), row, "D", color=INK, markersize=5)
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    axes.set_xlim(limits[0] * 1.08, limits[1] * 1.08)
    _label(axes, panel)


_Painter = Callable[["Axes", Panel, "NDArray[Any]", tuple[float, float], str], None]
_PAINTERS: dict[Kind, _Painter] = {
    Kind.MASK: _squares,
    Kind.WORDS: _words,
    Kind.CURVES: _curves,
    Kind.POINTS: _points,
    Kind.STRIPS: _strips,
}


def _label(axes: Axes, panel: Panel) -> None:
    axes.set_xlabel(panel.column_axis)
    axes.set_ylabel(panel.row_axis)


def _mark(axes: Axes, panel: Panel, yours: NDArray[Any], wrong: NDArray[np.bool_]) -> None:
    if panel.kind is Kind.CURVES:
        x = np.broadcast_to(np.asarray(panel.columns, dtype=float), yours.shape)
        axes.plot(x[wrong], yours[wrong], "x", color=WRONG, markersize=6, markeredgewidth=1.6)
    elif panel.kind is Kind.POINTS:
        ends = yours[wrong.any(axis=1)]
        axes.plot(ends[:, 0], ends[:, 1], "x", color=WRONG, markersize=9, markeredgewidth=2.2)
    elif panel.kind is Kind.STRIPS:
        rows, columns = np.nonzero(wrong)
        axes.plot(yours[rows, columns], rows + 0.3, "x", color=WRONG, markersize=5)
    else:
        _frame(axes, wrong)


def _frame(axes: Axes, wrong: NDArray[np.bool_]) -> None:
    """Draw lines around what is wrong, white below the colour, to be visible on every shade."""
    from matplotlib.collections import LineCollection

    padded = np.pad(wrong, 1)
    lines = []
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]).tolist():
        lines.append([(column - 0.5, row - 0.5), (column + 0.5, row - 0.5)])
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]).tolist():
        lines.append([(column - 0.5, row - 0.5), (column - 0.5, row + 0.5)])
    for colour, width in ((PAPER, 4.2), (WRONG, 2.2)):
        axes.add_collection(
            LineCollection(
                lines, colors=colour, linewidths=width, capstyle="projecting", clip_on=False
            ),
            autolim=False,
        )


def _say(axes: Axes, words: str) -> None:
    axes.set_title("yours", color=WRONG)
    axes.set_axis_off()
    text = "\n".join(textwrap.fill(line, 58) for line in words.splitlines()[:9])
    axes.text(0.02, 0.95, f"× {text}", va="top", fontsize=9, transform=axes.transAxes)
