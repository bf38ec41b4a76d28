"""Attention as tables of numbers: queries and keys become weights, and these average the values."""

from __future__ import annotations

import math
from types import ModuleType

import torch
from torch import Tensor

from tests.tools.drawings.svg import Drawing

_SENTENCE = ("the", "cat", "sat")
_QUERY = ((0.0, 1.0), (1.0, 1.0), (2.0, 0.0))
_KEY = ((0.0, 2.0), (2.0, 1.0), (1.0, 0.0))
_VALUE = ((10.0, 0.0), (0.0, 10.0), (5.0, 5.0))
# The query whose row is coloured.
_FOLLOWED = 2
_CELL, _TOP = (38, 30), 96


def attention(answer: ModuleType) -> Drawing:
    """Draw what becomes of three queries, three keys and three values."""
    query, key, value = (torch.tensor(rows) for rows in (_QUERY, _KEY, _VALUE))
    output, weights = answer.attention(query, key, value)
    scores = query @ key.T / math.sqrt(query.size(-1))
    shares = [f"{weight:.2f}" for weight in weights[_FOLLOWED].tolist()]
    drawing = Drawing(
        930,
        266,
        "Attention: queries and keys become weights, and the weights average the values",
        "Six tables from left to right for the sentence “the cat sat”, one row per token. The "
        "queries Q times the transposed keys K, divided by √d_k, are the scores, three by three. "
        "Softmax turns each row of scores into weights that sum to 1. The weights times the values "
        f"V are the output. The row of “{_SENTENCE[_FOLLOWED]}” is coloured: its weights are "
        f"{shares[0]} for “the”, {shares[1]} for “cat” and {shares[2]} for “sat”, so its output is "
        "close to the value of “cat”.",
    )
    _table(drawing, 52, "Q", query, rows=True)
    drawing.text(147, 146, "×", "middle large")
    _table(drawing, 166, "K transposed", key.T, columns=True, follow=False)
    drawing.arrow([(288, 141), (340, 141)])
    drawing.text(314, 130, "÷ √d_k", "middle small")
    _table(drawing, 348, "scores", scores, columns=True, digits=2)
    drawing.arrow([(470, 141), (530, 141)])
    drawing.text(500, 130, "softmax", "middle small")
    _table(drawing, 538, "weights", weights, columns=True, digits=2)
    for row, numbers in enumerate(weights.tolist()):
        for column, weight in enumerate(numbers):
            left, bottom = 538 + _CELL[0] * column, _TOP + _CELL[1] * (row + 1)
            drawing.rectangle(left + 2, bottom - 5, weight * (_CELL[0] - 4), 3, "full")
    drawing.text(671, 146, "×", "middle large")
    _table(drawing, 722, "V", value, rows=True, follow=False)
    drawing.text(816, 146, "=", "middle large")
    _table(drawing, 834, "output", output, digits=1)
    drawing.text(52, 224, "A row of Q, scores, weights and output belongs to a query.", "small")
    drawing.text(
        52,
        244,
        f"Coloured: “{_SENTENCE[_FOLLOWED]}”. Its output is {shares[0]} of the value of “the”, "
        f"{shares[1]} of that of “cat” and {shares[2]} of its own.",
        "small",
    )
    return drawing


def _table(
    drawing: Drawing,
    left: float,
    name: str,
    numbers: Tensor,
    *,
    rows: bool = False,
    columns: bool = False,
    follow: bool = True,
    digits: int = 0,
) -> None:
    """Draw a table, with the tokens beside its `rows` or above its `columns`."""
    width, height = _CELL
    length, features = numbers.shape
    top = _TOP + (len(_SENTENCE) - length) * height / 2
    middle = left + features * width / 2
    drawing.text(middle, 34, name, "middle large")
    drawing.text(middle, 54, f"({length}, {features})", "middle small")
    for row in range(length):
        kind = "other" if follow and row == _FOLLOWED else "box"
        if rows:
            drawing.text(left - 6, top + height * row + 20, _SENTENCE[row], "end small")
        for column in range(features):
            x, y = left + width * column, top + height * row
            drawing.rectangle(x, y, width, height, kind)
            drawing.text(
                x + width / 2, y + 19, f"{numbers[row, column].item():.{digits}f}", "middle"
            )
    for column in range(features if columns else 0):
        drawing.text(left + width * (column + 0.5), top - 7, _SENTENCE[column], "middle small")
