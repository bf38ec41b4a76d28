"""What a model does that one which learns does not, and where it may come from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from grader.capstone.exam import Learnt, Progress
from grader.capstone.task import Symptom

_ATTENTION = ("attention", "kv_cache", "grouped_query", "language_model")
_LEARNING = (
    *("attention", "rope", "rms_norm", "swiglu", "grouped_query", "language_model"),
    *("optimiser", "training_loop"),
)


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


def of_language_model(learnt: Learnt, history: Sequence[Progress]) -> Iterator[Symptom]:
    """The symptoms of a trained language model, the most telling first."""
    does = learnt.behaviour
    yield from infinite_loss(
        learnt, "attention", "rms_norm", "swiglu", "grouped_query", "language_model", "optimiser"
    )
    if does.future:
        yield Symptom(
            "Changing a token changes the predictions before it. So the model sees the token it "
            f"should predict: its loss ({learnt.loss:.2f}) means nothing, and writing fails, "
            "because there are no later tokens then.",
            _ATTENTION,
        )
    if does.source is False:
        yield Symptom(
            "Changing the text does not change the prediction at its end: the model ignores what "
            "it reads.",
            (*_ATTENTION, "rms_norm", "swiglu"),
        )
    elif does.source_order is False:
        yield Symptom(
            "Swapping two tokens changes no later prediction: the model cannot tell positions "
            "apart.",
            ("rope", "grouped_query", "language_model"),
        )
    yield from unreached(learnt, *_LEARNING)
    if does.cached is False:
        yield Symptom(
            "With caches, the model's predictions differ from those without, so it writes another "
            "text than it should.",
            ("kv_cache", "grouped_query", "language_model"),
        )
    if does.greedy is False:
        yield Symptom(
            "At temperature 0, `generate` does not write the tokens that the model finds most "
            "probable.",
            ("sampling", "kv_cache", "language_model"),
        )
    yield from nothing_learnt(learnt, history, "training", "optimiser", "training_loop")
