"""The three masks of the whole model: which attention is given which."""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor

from tests.tools.drawings.svg import Drawing

_SOURCE, _SOURCE_IDS = ("le", "chat", "dort", "·"), (4, 7, 9, 0)
_TARGET, _TARGET_IDS = ("<s>", "the", "cat", "sleeps", "·"), (1, 5, 7, 8, 0)
_CELL, _TOP = 34, 296


def three_masks(answer: ModuleType) -> Drawing:
    """Draw the model from left to right, and below each attention the mask that it is given."""
    source, target = torch.tensor([_SOURCE_IDS]), torch.tensor([_TARGET_IDS])
    drawing = Drawing(
        860,
        526,
        "The three masks in the whole model",
        "Above, the model from left to right: the source ids go through the encoder with its "
        "self-attention (1), the target ids through the decoder with self-attention (2) and "
        "cross-attention (3), whose keys and values are the encoder's output. Below, a grid for "
        "each; rows are queries, columns are keys. 1: four source tokens by four, the column of "
        "padding is empty. 2: five target tokens by five, a triangle without the column of "
        "padding. 3: five target tokens by four source tokens, the column of the source's padding "
        "is empty, so this mask is made from the source.",
    )
    _model(drawing)
    padding = answer.padding_mask(source)
    grids = (
        (70, "padding_mask(src)", padding, _SOURCE, _SOURCE),
        (350, "target_mask(tgt)", answer.target_mask(target), _TARGET, _TARGET),
        (640, "padding_mask(src)", padding, _TARGET, _SOURCE),
    )
    for number, (left, name, mask, queries, keys) in enumerate(grids, start=1):
        _badge(drawing, left - 26, _TOP - 54, number)
        drawing.text(left - 8, _TOP - 49, name, "large")
        _grid(drawing, left, mask, queries, keys)
    drawing.rectangle(70, 492, 16, 16, "full", 2)
    drawing.text(94, 505, "True: may be attended to")
    drawing.text(300, 505, "rows: queries, columns: keys, ·: padding", "small")
    return drawing


def _model(drawing: Drawing) -> None:
    drawing.box(20, 48, 118, 34, "src, source ids", "empty")
    drawing.box(20, 148, 118, 34, "tgt, target ids", "empty")
    drawing.rectangle(190, 30, 210, 70, "quiet dashed", 8)
    drawing.text(200, 24, "encoder", "small")
    drawing.box(226, 48, 140, 34, "self-attention")
    _badge(drawing, 226, 48, 1)
    drawing.rectangle(190, 130, 500, 70, "quiet dashed", 8)
    drawing.text(200, 124, "decoder", "small")
    drawing.box(226, 148, 140, 34, "self-attention")
    _badge(drawing, 226, 148, 2)
    drawing.box(480, 148, 140, 34, "cross-attention")
    _badge(drawing, 480, 148, 3)
    drawing.arrow([(138, 65), (226, 65)])
    drawing.arrow([(138, 165), (226, 165)])
    drawing.arrow([(366, 165), (480, 165)])
    drawing.text(424, 157, "queries", "middle small")
    drawing.arrow([(366, 65), (550, 65), (550, 148)], "line thick")
    drawing.text(560, 84, "the encoder's output:", "small")
    drawing.text(560, 99, "keys and values", "small")
    drawing.arrow([(620, 165), (734, 165)])
    drawing.text(740, 170, "generator, logits")


def _badge(drawing: Drawing, x: float, y: float, number: int) -> None:
    drawing.circle(x, y, 11, "full")
    drawing.text(x, y + 4.5, str(number), "middle onfull")


def _grid(
    drawing: Drawing, left: float, mask: Tensor, queries: tuple[str, ...], keys: tuple[str, ...]
) -> None:
    visible = mask.expand(1, 1, len(queries), len(keys))[0, 0].tolist()
    for column, key in enumerate(keys):
        drawing.text(left + _CELL * (column + 0.5), _TOP - 8, key, "middle small")
    for row, query in enumerate(queries):
        drawing.text(left - 6, _TOP + _CELL * row + 21, query, "end small")
        for column in range(len(keys)):
            kind = "full" if visible[row][column] else "empty"
            x, y = left + _CELL * column + 2, _TOP + _CELL * row + 2
            drawing.rectangle(x, y, _CELL - 4, _CELL - 4, kind, 3)
