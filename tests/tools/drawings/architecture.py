"""The architecture of a Transformer: both columns, with the exercise that each box belongs to."""

from __future__ import annotations

from tests.tools.drawings.svg import Drawing

_ENCODER, _DECODER = 255, 600
_TICK = "✓"
_WIDTH, _HEIGHT = 176, 44
_TITLE = "A Transformer: the encoder on the left, the decoder on the right"
_DESCRIPTION = (
    "The data flows from the bottom to the top. Left: source tokens go through the token "
    "embedding, positions are added, and N encoder layers follow, each with self-attention "
    "(marked 1), Add & Norm, feed-forward and Add & Norm. Right: target tokens, shifted right, go "
    "through an embedding with positions and N decoder layers, each with masked self-attention "
    "(2), Add & Norm, cross-attention (3), Add & Norm, feed-forward and Add & Norm. The encoder's "
    "output supplies the keys and values of cross-attention. A residual connection leads past each "
    "sublayer to its Add & Norm. On top of the decoder a linear map and softmax give the "
    "probabilities of the next token."
)
# Parts are lit where the page says that they are done, see grader/curriculum/architecture.py.
_LIT = """
.tick{display:none;font-weight:bold}.done>.tick{display:inline;fill:#12652f}
.done>rect{fill:#c9ebd3;stroke:#12652f;stroke-width:2}
.begun>rect{stroke:#12652f;stroke-width:2;stroke-dasharray:5 3}
.provided>rect{stroke-dasharray:2 3}
@media (prefers-color-scheme:dark){
.done>.tick{fill:#7fdc9c}.done>rect{fill:#174a2a;stroke:#7fdc9c}.begun>rect{stroke:#7fdc9c}
}
"""
# The three kinds of attention: its name, who attends to whom, and the mask.
_KINDS = (
    ("Self-attention", "source tokens attend to source tokens", "padding_mask of the source"),
    (
        "Masked self-attention",
        "target tokens attend to themselves and earlier ones",
        "target_mask: causal and padding",
    ),
    (
        "Cross-attention",
        "target tokens attend to source tokens",
        "padding_mask of the source",
    ),
)


def architecture() -> Drawing:
    """Draw both columns from the tokens to the probabilities of the next one."""
    drawing = Drawing(850, 860, _TITLE, _DESCRIPTION, _LIT)
    _legend(drawing)
    drawing.rectangle(130, 366, 226, 276, "quiet dashed", 10)
    drawing.rectangle(490, 236, 236, 406, "quiet dashed", 10)
    _name(drawing, 20, 480, "Encoder", "encoder")
    _name(drawing, 742, 400, "Decoder", "decoder")

    left, right = _ENCODER - 104, _DECODER + 104
    _column(drawing, _ENCODER, left, ((578, 516, 1), (448, 386, None)), "Self-attention")
    _column(
        drawing,
        _DECODER,
        right,
        ((578, 516, 2), (448, 386, 3), (318, 256, None)),
        "Masked self-attention",
    )
    for middle, source, exercises in (
        (_ENCODER, "Source tokens", "tokens"),
        (_DECODER, "Target, shifted right", "tokens, training"),
    ):
        _box(drawing, middle, 796, source, exercises, "empty")
        drawing.arrow([(middle, 796), (middle, 774)])
        _box(drawing, middle, 730, "Token embedding", "embedding", "empty")
        drawing.arrow([(middle, 730), (middle, 695)])
        drawing.circle(middle, 682, 13, "empty")
        drawing.text(middle, 687, "+", "middle")
        drawing.arrow([(middle, 669), (middle, 622)])
    for start, end, middle in ((144, _ENCODER - 13, 89), (711, _DECODER + 13, 766)):
        _box(drawing, middle, 660, "Positions", "positional", "empty", width=110)
        drawing.arrow([(start, 682), (end, 682)])

    # The encoder's output.
    drawing.arrow(
        [(_ENCODER, 386), (_ENCODER, 326), (422, 326), (422, 470), (_DECODER - _WIDTH / 2, 470)],
        "line thick",
    )
    drawing.text(268, 316, "the encoder's output", "small")
    drawing.text(430, 462, "keys and", "small")
    drawing.text(430, 486, "values", "small")

    drawing.arrow([(_DECODER, 256), (_DECODER, 206)])
    _box(drawing, _DECODER, 162, "Linear", "linear", "empty")
    drawing.arrow([(_DECODER, 162), (_DECODER, 140)])
    _box(drawing, _DECODER, 96, "Softmax", "softmax", "empty")
    drawing.arrow([(_DECODER, 96), (_DECODER, 74)])
    drawing.text(_DECODER, 62, "probabilities of the next token", "middle")
    with drawing.group("decoding, sampling"):
        drawing.text(_DECODER, 40, "decoding and sampling choose from them", "middle small")
        drawing.text(_DECODER + 112, 40, _TICK, "tick")
    return drawing


def _column(
    drawing: Drawing,
    middle: float,
    past: float,
    sublayers: tuple[tuple[float, float, int | None], ...],
    first: str,
) -> None:
    """Draw the sublayers of a layer, each with its Add & Norm and the residual path `past` it.

    Each is the top of its box, the top of its norm's, and its number among the kinds of attention.
    """
    side = _WIDTH / 2 if past > middle else -_WIDTH / 2
    for number, (top, norm, kind) in enumerate(sublayers):
        below = top + _HEIGHT
        if number:
            drawing.arrow([(middle, sublayers[number - 1][1]), (middle, below)])
        fork = below + 10
        drawing.line([(middle, fork), (past, fork), (past, norm + _HEIGHT / 2)])
        drawing.arrow([(past, norm + _HEIGHT / 2), (middle + side, norm + _HEIGHT / 2)])
        drawing.arrow([(middle, top), (middle, norm + _HEIGHT)])
        if kind is None:
            _box(drawing, middle, top, "Feed-forward", "feed_forward, activations", "empty")
        else:
            name = first if number == 0 else "Cross-attention"
            _box(drawing, middle, top, name, "multi_head, attention, masks", "box")
            _badge(drawing, middle - _WIDTH / 2, top, kind)
        _box(drawing, middle, norm, "Add & Norm", "sublayer, layer_norm, dropout", "other")


def _box(
    drawing: Drawing,
    middle: float,
    top: float,
    name: str,
    exercises: str,
    kind: str,
    width: float = _WIDTH,
) -> None:
    """Draw a box: what it is, and below that the exercises in which it is written."""
    with drawing.group(exercises):
        drawing.rectangle(middle - width / 2, top, width, _HEIGHT, kind, 4)
        drawing.text(middle, top + 19, name, "middle")
        drawing.text(middle, top + 35, exercises, "middle small")
        drawing.text(middle + width / 2 - 5, top + 16, _TICK, "end tick")


def _badge(drawing: Drawing, x: float, y: float, number: int) -> None:
    drawing.circle(x, y, 11, "full")
    drawing.text(x, y + 4.5, str(number), "middle onfull")


def _name(drawing: Drawing, x: float, y: float, name: str, exercise: str) -> None:
    with drawing.group(exercise):
        drawing.text(x, y, name, "large")
        drawing.text(x, y + 19, "N layers")
        drawing.text(x, y + 36, exercise, "small")
        drawing.text(x + 76, y, _TICK, "tick")


def _legend(drawing: Drawing) -> None:
    drawing.text(20, 30, "Three kinds of attention", "large")
    for number, (name, querying, mask) in enumerate(_KINDS, start=1):
        top = 62 * number
        _badge(drawing, 32, top, number)
        drawing.text(54, top + 4.5, name)
        drawing.text(54, top + 21, querying, "small")
        drawing.text(54, top + 36, f"masks: {mask}", "small")
    with drawing.group("transformer"):
        drawing.text(20, 256, "Small print: the exercises. The whole: transformer.", "small")
        drawing.text(284, 256, _TICK, "tick")
