"""The map of the exercises: which piece is built of which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from grader.pictures.svg import Drawing


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
    "tokens": (0, 0),
    "positional": (0, 1),
    "rope": (0, 2),
    "embedding": (2, 0.5),
    "attention": (0, 3.4),
    "multi_head": (1, 3.4),
    "linear": (0, 4.4),
    "activations": (0, 5.2),
    "dropout": (0, 6),
    "feed_forward": (1, 5.2),
    "layer_norm": (0, 7.2),
    "sublayer": (1, 7.2),
    "by_hand": (3, 7.2),
    "encoder": (2, 4.1),
    "decoder": (2, 6.3),
    "masks": (2, 1.9),
    "transformer": (3, 4.1),
    "training": (4, 3.2),
    "decoding": (4, 5),
}
# Who leads to whom without being imported: what a reader should have met before.
_LEADS = (
    ("tokens", "embedding"),
    ("linear", "feed_forward"),
    ("activations", "feed_forward"),
    ("dropout", "feed_forward"),
    ("transformer", "training"),
    ("transformer", "decoding"),
)


def path(pieces: Sequence[Piece]) -> Drawing:
    """Boxes with arrows from each exercise to those that are built of it."""
    places = dict(_PLACES)
    others = [piece.name for piece in pieces if piece.name not in places]
    for number, name in enumerate(others):
        places[name] = (number % 5, 8.4 + number // 5)
    rows = max(places[piece.name][1] for piece in pieces)
    drawing = Drawing(
        800,
        round(_corner((0, rows))[1]) + 90,
        "The path: which exercise is built of which",
        "Arrows run from left to right. "
        + " ".join(
            f"{piece.name} is built of {', '.join(piece.needs)}." for piece in pieces if piece.needs
        )
        + " Dashed arrows: tokens leads to embedding; linear, activations and dropout lead to "
        "feed_forward; transformer leads to training and decoding. The core eight have a thick "
        f"frame: {', '.join(piece.name for piece in pieces if piece.core)}.",
    )
    here = {piece.name for piece in pieces}
    for piece in pieces:
        for need in piece.needs:
            if not _implied(need, piece, pieces):
                _arrow(drawing, places[need], places[piece.name], "line")
    for before, after in _LEADS:
        if {before, after} <= here:
            _arrow(drawing, places[before], places[after], "line dashed")
    for piece in pieces:
        x, y = _corner(places[piece.name])
        drawing.box(x, y, _WIDTH, _HEIGHT, piece.name, "box" if piece.core else "empty")
        if piece.core:
            drawing.rectangle(x, y, _WIDTH, _HEIGHT, "line thick", 4)
    drawing.text(20, drawing.height - 14, "thick frame: the core eight", "small")
    drawing.text(220, drawing.height - 14, "arrow: is imported by", "small")
    drawing.text(
        390, drawing.height - 14, "dashed: is the idea behind, or what comes next", "small"
    )
    return drawing


def _corner(place: tuple[float, float]) -> tuple[float, float]:
    return 20 + 160 * place[0], 20 + 46 * place[1]


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
