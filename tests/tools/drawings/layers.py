"""A layer of the encoder and one of the decoder, each in post-norm and in pre-norm."""

from __future__ import annotations

from tests.tools.drawings.svg import Drawing

# The sublayers and the mask that each is given.
_ENCODER = (("self-attention", "mask"), ("feed-forward", ""))
_DECODER = (
    ("self-attention", "tgt_mask"),
    ("cross-attention", "memory_mask"),
    ("feed-forward", ""),
)
# Of a connection's height, of its boxes, and where its middle lies.
_STEP, _BOX, _MIDDLE = 204, (136, 40), 190


def encoder_layer() -> Drawing:
    """Draw the two connections of an encoder layer, in both orders of the norm."""
    drawing = Drawing(
        860,
        562,
        "An encoder layer, in post-norm and in pre-norm",
        "Two flow charts from the bottom to the top. Post-norm: x goes through self-attention and "
        "dropout, the residual path adds x, and a norm follows; the same again around the "
        "feed-forward network, with a norm of its own. Pre-norm: a norm comes before "
        "self-attention and another before the feed-forward network; the residual paths lead past "
        "norm and sublayer, and nothing normalises the last sum, so the encoder has one more norm "
        "after its last layer.",
    )
    _both(drawing, _ENCODER)
    return drawing


def decoder_layer() -> Drawing:
    """Draw the three connections of a decoder layer, in both orders of the norm."""
    drawing = Drawing(
        860,
        766,
        "A decoder layer, in post-norm and in pre-norm",
        "Two flow charts from the bottom to the top, each with three connections: around "
        "self-attention, which takes tgt_mask, around cross-attention, which takes memory_mask, "
        "and around the feed-forward network. In cross-attention the queries come from below, from "
        "the target; keys and values come from the side, from the memory, and the memory is never "
        "normalised here. Post-norm has a norm after each sum, pre-norm one before each sublayer.",
    )
    _both(drawing, _DECODER)
    return drawing


def _both(drawing: Drawing, sublayers: tuple[tuple[str, str], ...]) -> None:
    _layer(drawing, 0, sublayers, norm_first=False)
    _layer(drawing, 430, sublayers, norm_first=True)


def _layer(
    drawing: Drawing, left: float, sublayers: tuple[tuple[str, str], ...], norm_first: bool
) -> None:
    """Draw one chart; the connections stand in dashed frames."""
    middle, bottom = left + _MIDDLE, drawing.height - 46
    drawing.text(middle, 28, "pre-norm" if norm_first else "post-norm", "middle large")
    drawing.text(middle, bottom + 34, "x", "middle")
    if norm_first:
        drawing.text(middle + 14, 66, "to the next layer; after the last,", "small")
        drawing.text(middle + 14, 81, "a norm of the whole stack", "small")
    else:
        drawing.text(middle + 14, 66, "to the next layer", "small")
    for number, (name, mask) in enumerate(sublayers):
        below = bottom - _STEP * number
        sublayer = _connection(drawing, left, below, number, name, mask, norm_first)
        if name == "cross-attention":
            end, height = left + 404, sublayer + _BOX[1] / 2
            drawing.text(end, height - 7, "memory", "end")
            drawing.text(end, height + 16, "keys, values", "end small")
            drawing.arrow([(end, height), (middle + _BOX[0] / 2, height)], "line thick")
    top = bottom - _STEP * len(sublayers)
    drawing.arrow([(middle, top + 8), (middle, top - 36)])


def _connection(
    drawing: Drawing,
    left: float,
    bottom: float,
    number: int,
    name: str,
    mask: str,
    norm_first: bool,
) -> float:
    """Draw a connection that ends at `bottom`, its path from below to above.

    Returns the top of its sublayer's box.
    """
    middle, past = left + _MIDDLE, left + _MIDDLE - 94
    width, height = _BOX
    top, fork = bottom - _STEP + 8, bottom - 14
    if norm_first:
        norm, sublayer, plus = bottom - 68, bottom - 126, bottom - 172
    else:
        norm, sublayer, plus = bottom - 182, bottom - 68, bottom - 114
    drawing.rectangle(left + 70, top, 212, _STEP - 14, "quiet dashed", 8)
    drawing.text(left + 64, top + 16, "connection", "end small")
    drawing.text(left + 64, top + 33, str(number), "end")
    drawing.line([(middle, fork), (past, fork), (past, plus)], "line thick")
    drawing.arrow([(past, plus), (middle - 12, plus)], "line thick")
    start = bottom + 20 if number == 0 else bottom + 8
    drawing.arrow([(middle, start), (middle, (norm if norm_first else sublayer) + height)])
    drawing.arrow([(middle, sublayer), (middle, plus + 12)])
    if norm_first:
        drawing.arrow([(middle, norm), (middle, sublayer + height)])
        drawing.line([(middle, plus - 12), (middle, top)])
    else:
        drawing.arrow([(middle, plus - 12), (middle, norm + height)])
        drawing.line([(middle, norm), (middle, top)])
    drawing.circle(middle, plus, 12, "empty")
    drawing.text(middle, plus + 5, "+", "middle")
    drawing.box(middle - width / 2, norm, width, height, f"norm {number}", "other")
    if mask:
        drawing.rectangle(middle - width / 2, sublayer, width, height, "box", 4)
        drawing.text(middle, sublayer + 17, name, "middle")
        drawing.text(middle, sublayer + 32, mask, "middle small")
    else:
        drawing.box(middle - width / 2, sublayer, width, height, name, "box")
    drawing.text(middle + 18, sublayer - 12, "dropout", "small")
    return sublayer
