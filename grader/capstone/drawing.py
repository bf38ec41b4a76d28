"""The pictures of a training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader import pictures
from grader.capstone.events import Translation
from grader.capstone.exam import Progress
from grader.capstone.task import LOOK_EVERY


def loss(history: Sequence[Progress], name: str) -> Any:
    """Return the loss at every report; `name` says what it is."""
    curve = [event.step for event in history], [event.loss for event in history]
    return pictures.curves({"loss": curve}, "Loss while learning", x_axis="step", y_axis=name)


def looks(
    history: Sequence[Progress],
    measured: Callable[[Progress], float],
    name: str,
    title: str,
    y_axis: str,
) -> Any:
    """Return the measure `name` of unseen examples at each look, or else at the end."""
    events = [event for event in history if event.step % LOOK_EVERY == 0] or history[-1:]
    curve = [event.step for event in events], [measured(event) for event in events]
    return pictures.curves({name: curve}, title, x_axis="step", y_axis=y_axis)


def heads(
    answer: Translation, rows: Sequence[str], columns: Sequence[str], title: str
) -> Any | None:
    """Return the attention of each head and layer; None if it doesn't fit rows and columns."""
    all_heads = [head for layer in answer.heads for head in layer]
    shape = [len(columns)] * len(rows)
    if not all_heads or any([len(row) for row in head] != shape for head in all_heads):
        return None
    return pictures.attention_heads(
        answer.heads, rows, columns, title, row_axis="written", column_axis="read"
    )
