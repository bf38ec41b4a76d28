"""What LayerNorm normalises and what batch normalisation does, in the same batch of tokens."""

from __future__ import annotations

from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.tools.drawings.svg import Drawing

_BATCH = (
    ((1.0, 3.0, 5.0, 7.0), (2.0, 2.0, 4.0, 4.0), (9.0, 1.0, 1.0, 1.0)),
    ((10.0, 30.0, 50.0, 70.0), (0.0, 4.0, 0.0, 4.0), (6.0, 6.0, 2.0, 2.0)),
)
# One of these rows is ten times the other.
_FOLLOWED_ROWS, _FOLLOWED_COLUMN = (0, 3), 2
_CELL, _TOP, _GAP = (36, 26), 84, 26


def normalised(answer: ModuleType) -> Drawing:
    """Draw the same batch twice: with the statistics of tokens, and with those of features."""
    x = torch.tensor(_BATCH)
    flat = x.flatten(0, 1)
    by_token = answer.LayerNorm(x.size(-1))(x).detach().flatten(0, 1)
    by_feature = F.batch_norm(flat, None, None, training=True)
    drawing = Drawing(
        900,
        390,
        "What is normalised: LayerNorm takes a token, batch normalisation a feature",
        "The same batch of two sentences with three tokens of four features, twice. On the left, "
        "LayerNorm: two rows, which are two tokens, are coloured. Each is normalised by its own "
        "mean and variance, so they come out alike, although one is ten times the other. On the "
        "right, batch normalisation: a column, which is one feature of all tokens of the batch, is "
        "coloured. Mean and variance stand below each column, and the one large token squeezes all "
        "others together.",
    )
    means, variances = flat.mean(-1), flat.var(-1, correction=0)
    drawing.text(66, 28, "LayerNorm: each token by itself", "large")
    _names(drawing, 66)
    rows = {(row, column) for row in _FOLLOWED_ROWS for column in range(4)}
    _table(drawing, 66, flat, rows, digits=0)
    for row in range(flat.size(0)):
        kind = "small" if row not in _FOLLOWED_ROWS else ""
        drawing.text(236, _row(row) + 18, f"{means[row].item():.3g}", f"middle {kind}".strip())
        drawing.text(282, _row(row) + 18, f"{variances[row].item():.3g}", f"middle {kind}".strip())
    drawing.text(236, _TOP - 10, "mean", "middle small")
    drawing.text(282, _TOP - 10, "variance", "middle small")
    drawing.arrow([(308, _row(3) - 13), (334, _row(3) - 13)])
    _table(drawing, 342, by_token, rows, digits=1)

    drawing.text(546, 28, "Batch normalisation: each feature", "large")
    columns = {(row, _FOLLOWED_COLUMN) for row in range(flat.size(0))}
    _table(drawing, 546, flat, columns, digits=0)
    bottom = _row(flat.size(0))
    for column in range(flat.size(1)):
        middle = 546 + _CELL[0] * (column + 0.5)
        kind = "middle" if column == _FOLLOWED_COLUMN else "middle small"
        drawing.text(middle, bottom + 12, f"{flat[:, column].mean().item():.0f}", kind)
        variance = flat[:, column].var(correction=0).item()
        drawing.text(middle, bottom + 30, f"{variance:.0f}", kind)
    drawing.text(538, bottom + 12, "mean", "end small")
    drawing.text(538, bottom + 30, "variance", "end small")
    drawing.arrow([(698, _row(3) - 13), (724, _row(3) - 13)])
    _table(drawing, 732, by_feature, columns, digits=1)
    drawing.text(66, 342, "A row is a token, a column a feature.", "small")
    drawing.text(
        66,
        360,
        "Left: the coloured tokens come out alike, although one is ten times as large; no other "
        "token affects them.",
        "small",
    )
    drawing.text(
        66,
        378,
        "Right: the large token changes the mean and variance of its columns, and with them the "
        "result of every token of the batch.",
        "small",
    )
    return drawing


def _row(number: int) -> float:
    """The top of a row; a gap separates the sentences."""
    return _TOP + _CELL[1] * number + _GAP * (number // len(_BATCH[0]))


def _names(drawing: Drawing, left: float) -> None:
    for sentence, tokens in enumerate(_BATCH):
        first = sentence * len(tokens)
        drawing.text(left - 46, _row(first) - 7, f"sentence {sentence}", "small")
        for token in range(len(tokens)):
            drawing.text(left - 6, _row(first + token) + 18, f"token {token}", "end small")


def _table(
    drawing: Drawing, left: float, numbers: Tensor, coloured: set[tuple[int, int]], digits: int
) -> None:
    width, height = _CELL
    for row, values in enumerate(numbers.tolist()):
        for column, value in enumerate(values):
            x, y = left + width * column, _row(row)
            drawing.rectangle(x, y, width, height, "other" if (row, column) in coloured else "box")
            text = f"{round(value, digits) + 0.0:.{digits}f}"
            drawing.text(x + width / 2, y + 18, text, "middle")
