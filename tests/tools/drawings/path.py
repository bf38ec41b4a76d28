"""The map of the exercises: which piece is built of which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tests.tools.drawings.svg import Drawing


class Piece(Protocol):
    """What the map has to know of an exercise."""

    @property
    def name(self) -> str:
        """The name of its file."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of those that it is built of."""

    @property
    def core(self) -> bool:
        """Whether it is one of the core eight."""


_WIDTH, _HEIGHT = 118, 30
# Column and row. One that has no place here stands in the last row.
_PLACES = {
    "tokens": (0, 0.8),
    "subwords": (1, 0),
    "positional": (0, 1.8),
    "embedding": (2, 1.3),
    "masks": (2, 2.4),
    "linear": (0, 2.9),
    "activations": (0, 3.7),
    "dropout": (0, 4.5),
    "feed_forward": (1, 3.7),
    "layer_norm": (0, 5.5),
    "sublayer": (1, 5.5),
    "softmax": (0, 6.5),
    "attention": (0, 7.5),
    "multi_head": (1, 7.5),
    "encoder": (2, 4.4),
    "decoder": (2, 6.1),
    "by_hand": (3, 5.8),
    "transformer": (3, 3.4),
    "optimiser": (3, 4.6),
    "decoding": (4, 2.4),
    "training": (4, 3.4),
    "training_loop": (4, 4.6),
    "tiled_attention": (0, 8.6),
    "rope": (0, 9.7),
    "kv_cache": (0, 10.9),
    "swiglu": (2, 7.7),
    "rms_norm": (2, 8.6),
    "grouped_query": (2, 9.7),
    "language_model": (3, 9.7),
    "sampling": (4, 10.9),
}
_AFTER_THE_PAPER = (
    "rope",
    "rms_norm",
    "swiglu",
    "kv_cache",
    "grouped_query",
    "language_model",
    "sampling",
    "subwords",
    "tiled_attention",
)
# Who leads to whom without being imported: what a reader should have met before.
_LEADS = (
    ("tokens", "embedding"),
    ("tokens", "subwords"),
    ("softmax", "attention"),
    ("linear", "feed_forward"),
    ("activations", "feed_forward"),
    ("dropout", "feed_forward"),
    ("encoder", "by_hand"),
    ("transformer", "training"),
    ("transformer", "decoding"),
    ("optimiser", "training_loop"),
    ("attention", "tiled_attention"),
    ("language_model", "sampling"),
)


def path(pieces: Sequence[Piece]) -> Drawing:
    """Boxes with arrows from each exercise to those that are built of it."""
    grid = dict(_PLACES)
    new_pieces = [piece.name for piece in pieces if piece.name not in grid]
    for number, name in enumerate(new_pieces):
        grid[name] = (number % 5, 12 + number // 5)
    rows = max(grid[piece.name][1] for piece in pieces)
    drawing = Drawing(
        800,
        round(_corner((0, rows))[1]) + 90,
        "The path: which exercise is built of which",
        "Arrows run from left to right. "
        + " ".join(
            f"{piece.name} is built of {', '.join(piece.needs)}." for piece in pieces if piece.needs
        )
        + " Dashed arrows: "
        + "; ".join(f"{before} leads to {after}" for before, after in _LEADS)
        + ". The core eight have a thick frame: "
        + f"{', '.join(piece.name for piece in pieces if piece.core)}. "
        + f"What came after the paper is sand-coloured: {', '.join(_AFTER_THE_PAPER)}.",
    )
    here = {piece.name for piece in pieces}
    for piece in pieces:
        for need in piece.needs:
            if not _implied(need, piece, pieces):
                _arrow(drawing, grid[need], grid[piece.name], "line")
    for before, after in _LEADS:
        if {before, after} <= here:
            _arrow(drawing, grid[before], grid[after], "line dashed")
    for piece in pieces:
        x, y = _corner(grid[piece.name])
        kind = "other" if piece.name in _AFTER_THE_PAPER else "box" if piece.core else "empty"
        drawing.box(x, y, _WIDTH, _HEIGHT, piece.name, kind)
        if piece.core:
            drawing.rectangle(x, y, _WIDTH, _HEIGHT, "line thick", 4)
    bottom = drawing.height - 14
    drawing.text(20, bottom, "thick frame: the core eight", "small")
    drawing.text(190, bottom, "sand: after the paper", "small")
    drawing.text(340, bottom, "arrow: is imported by", "small")
    drawing.text(480, bottom, "dashed: is the idea behind, or comes before", "small")
    return drawing


def _corner(cell: tuple[float, float]) -> tuple[float, float]:
    return 20 + 160 * cell[0], 20 + 46 * cell[1]


def _implied(need: str, piece: Piece, pieces: Sequence[Piece]) -> bool:
    """Whether another of its needs is built of this one, so that the arrow says nothing new."""
    return any(need in other.needs for other in pieces if other.name in piece.needs)


def _arrow(
    drawing: Drawing, start: tuple[float, float], end: tuple[float, float], kind: str
) -> None:
    (x, y), (to_x, to_y) = _corner(start), _corner(end)
    if start[0] == end[0]:
        drawing.arrow([(x + _WIDTH / 2, y + _HEIGHT), (x + _WIDTH / 2, to_y)], kind)
        return
    y, to_y = y + _HEIGHT / 2, to_y + _HEIGHT / 2
    drawing.arrow([(x + _WIDTH, y), (x + _WIDTH + 12, y), (to_x - 12, to_y), (to_x, to_y)], kind)
