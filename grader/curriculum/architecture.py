"""The architecture of a Transformer, lit up by the exercises that are done: as a picture, as text.

The picture is `exercises/pictures/architecture.svg`. Each part of it is a group that names its
exercises in `data-exercises`; what is done gets a class, and the picture's own style does the rest.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator

from grader.curriculum.project import EXERCISES
from grader.curriculum.stubs import PICTURES

# What became of a part: all of its assigned exercises are done, some are, none is, or there is no
# assigned exercise in it.
DONE, BEGUN, OPEN, PROVIDED = "done", "begun", "open", "provided"

# Both columns from the top to the bottom: what a part is called, and its exercises.
_ATTENTION = ("multi_head", "attention", "masks")
_NORM = ("sublayer", "layer_norm", "dropout")
_FEED_FORWARD = ("feed_forward", "activations")
ROWS: tuple[tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]], ...] = (
    (("Whole model", ("transformer",)), ("Softmax", ("softmax",))),
    (("", ()), ("Linear", ("linear",))),
    (("Encoder", ("encoder",)), ("Decoder", ("decoder",))),
    (("  Feed-forward", _FEED_FORWARD), ("  Feed-forward", _FEED_FORWARD)),
    (("", ()), ("  Cross-attention", _ATTENTION)),
    (("  Self-attention", _ATTENTION), ("  Masked self-attention", _ATTENTION)),
    (("  Add & Norm", _NORM), ("  Add & Norm", _NORM)),
    (("Positions", ("positional",)), ("Positions", ("positional",))),
    (("Token embedding", ("embedding",)), ("Token embedding", ("embedding",))),
    (("Source tokens", ("tokens",)), ("Target tokens", ("tokens", "training"))),
)
# The exercises that the picture shows.
SHOWN = frozenset(name for row in ROWS for _, names in row for name in names)
_GROUP = re.compile(r'<g data-exercises="([\w ]+)">')


def state(exercises: Collection[str], done: Collection[str], assigned: Collection[str]) -> str:
    """Return what became of a part with these exercises."""
    counted = [name for name in exercises if name in assigned]
    finished = [name for name in counted if name in done]
    if not counted:
        return PROVIDED
    if len(finished) == len(counted):
        return DONE
    return BEGUN if finished else OPEN


def rows(
    done: Collection[str], assigned: Collection[str]
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield the lines of the text, left and right: what a part is called, and its state."""
    for left, right in ROWS:
        yield (
            (left[0], state(left[1], done, assigned)),
            (right[0], state(right[1], done, assigned)),
        )


def picture(done: Collection[str], assigned: Collection[str]) -> str:
    """Return the picture as SVG, with what is done lit; "" where its file is missing."""
    try:
        svg = (EXERCISES / PICTURES / "architecture.svg").read_text(encoding="utf-8")
    except OSError:
        return ""

    def lit(group: re.Match[str]) -> str:
        names = group.group(1)
        return f'<g data-exercises="{names}" class="{state(names.split(), done, assigned)}">'

    return _GROUP.sub(lit, svg)


def address(done: Collection[str], assigned: Collection[str]) -> str:
    """Return the picture as an address of data, for an `img`; "" where its file is missing."""
    svg = picture(done, assigned)
    encoded = base64.b64encode(svg.encode()).decode()
    return f"data:image/svg+xml;base64,{encoded}" if svg else ""


def caption(done: Collection[str], assigned: Collection[str]) -> str:
    """Return what the picture shows, in words."""
    finished = [name for name in assigned if name in done]
    names = ", ".join(finished) or "nothing yet"
    return f"The architecture of a Transformer. Done: {names}."
