"""The input of the first layer as tables of numbers: rows that are looked up, plus positions."""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor

from tests.tools.drawings.svg import Drawing

_VOCABULARY = ("·", "cat", "dog", "saw", "the")
_ROWS = (
    (0.0, 0.0, 0.0, 0.0),
    (0.4, -0.8, 0.1, 0.6),
    (0.5, -0.7, 0.3, 0.4),
    (-0.9, 0.2, 0.7, -0.3),
    (0.1, 0.3, -0.6, 0.2),
)
_SENTENCE = (4, 1, 3, 4, 2)
# The token that occurs twice.
_FOLLOWED = 4
_CELL, _TOP = (36, 28), 84


def embedding(answer: ModuleType) -> Drawing:
    """Draw the table, the rows of a sentence, its positions, and their sum."""
    d_model = len(_ROWS[0])
    embedded = answer.TransformerEmbedding(len(_VOCABULARY), d_model, dropout=0.0)
    with torch.no_grad():
        embedded.token.embedding.weight.copy_(torch.tensor(_ROWS))
        ids = torch.tensor([_SENTENCE])
        tokens, total = embedded.token(ids)[0], embedded(ids)[0]
    positions = embedded.position(torch.zeros(1, len(_SENTENCE), d_model)).detach()[0]
    drawing = Drawing(
        900,
        290,
        "Embedding plus positions: the input of the first layer",
        "Four tables from left to right for the sentence “the cat saw the dog”. The table of "
        "embeddings has one row per token of the vocabulary. Each token of the sentence looks up "
        "its row, times √d_model = 2. Plus the positions, one row for each of 0 to 4, gives the "
        "result. “the” occurs twice and is coloured: both times it has the same row of the table, "
        "but another position, so the two rows of the result differ.",
    )
    words = [_VOCABULARY[number] for number in _SENTENCE]
    followed = [number == _FOLLOWED for number in _SENTENCE]
    in_table = [number == _FOLLOWED for number in range(len(_VOCABULARY))]
    labels = [f"{word}  {number}" for number, word in enumerate(_VOCABULARY)]
    _table(drawing, 62, "weight", torch.tensor(_ROWS), labels, in_table)
    drawing.arrow([(212, _TOP + 70), (290, _TOP + 70)])
    drawing.text(251, _TOP + 44, "look up,", "middle small")
    drawing.text(251, _TOP + 60, "× √d_model", "middle small")
    _table(drawing, 332, "tokens", tokens, words, followed)
    drawing.text(492, _TOP + 75, "+", "middle large")
    names = [str(position) for position in range(len(words))]
    _table(drawing, 524, "positions", positions, names, [False] * len(words))
    drawing.text(684, _TOP + 75, "=", "middle large")
    _table(drawing, 736, "input of layer 1", total, words, followed)
    drawing.text(62, 252, "One row per token of the vocabulary: its name and its id.", "small")
    drawing.text(
        62,
        272,
        "Coloured: “the” has one row in the table, but two different rows in the result, because "
        "it stands at positions 0 and 3.",
        "small",
    )
    return drawing


def _table(
    drawing: Drawing,
    left: float,
    name: str,
    numbers: Tensor,
    labels: list[str],
    coloured: list[bool],
) -> None:
    width, height = _CELL
    drawing.text(left + 2 * width, 34, name, "middle large")
    drawing.text(left + 2 * width, 54, str(tuple(numbers.shape)), "middle small")
    for row, values in enumerate(numbers.tolist()):
        drawing.text(left - 6, _TOP + height * row + 18, labels[row], "end small")
        for column, value in enumerate(values):
            x, y = left + width * column, _TOP + height * row
            drawing.rectangle(x, y, width, height, "other" if coloured[row] else "box")
            drawing.text(x + width / 2, y + 18, f"{round(value, 1) + 0.0:.1f}", "middle")
