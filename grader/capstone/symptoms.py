"""Symptoms of models that don't learn, and the exercises that may cause them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from grader.capstone.exam import Learnt, Progress
from grader.capstone.task import Symptom


def infinite_loss(learnt: Learnt, *suspects: str) -> Iterator[Symptom]:
    """That the loss is no number any more."""
    if not math.isfinite(learnt.loss):
        yield Symptom(
            f"The loss is {learnt.loss} after {learnt.step} steps: "
            "somewhere a number became infinite.",
            suspects,
        )


def unreached(learnt: Learnt, *suspects: str) -> Iterator[Symptom]:
    """That some parameters receive no gradient."""
    names = learnt.behaviour.unreached
    if names:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield Symptom(
            f"No gradient reaches {', '.join(names[:3])}{more}: "
            "they stay as they were at the start.",
            suspects,
        )


def nothing_learnt(
    learnt: Learnt, history: Sequence[Progress], *suspects: str
) -> Iterator[Symptom]:
    """That the loss is after many steps what it was at the start."""
    if len(history) > 1 and learnt.step >= 100 and learnt.loss > 0.9 * history[0].loss:
        yield Symptom(
            f"After {learnt.step} steps the loss is {learnt.loss:.2f}; it began at "
            f"{history[0].loss:.2f}: nothing was learned.",
            suspects,
        )
