"""Which exercise to look at when a model has not learnt: from what was measured, in words.

What the whole model does is the symptom; the probes of the pieces tell where it comes from. A piece
that builds on a wrong one is not blamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from grader.capstone.dates import target_size
from grader.capstone.events import Failure, Fault, Learnt, Progress
from grader.capstone.training import SMOOTHING

LEARNT = 0.99  # the share of exact translations from which nothing is wrong
MOST = 2
MORE_TIME = (
    "Nothing wrong was found in your pieces: it needs more steps. Give it more time with --seconds."
)

Needs = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Symptom:
    """Something that the whole model does, and the exercises that it may come from."""

    told: str
    suspects: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """An exercise to look at, what was measured of it, and of the whole model if that fits."""

    exercise: str
    told: str
    symptom: str = ""


def lowest_loss() -> float:
    """The label-smoothed loss of a model that is always right."""
    size = target_size()
    other = SMOOTHING / size
    label = 1 - SMOOTHING + other
    return -label * math.log(label) - (size - 1) * other * math.log(other)


def advise(
    outcome: Learnt | Failure, history: Sequence[Progress], needs: Needs
) -> tuple[list[Symptom], list[Advice]]:
    """What was seen, and the exercises to look at: first the one that explains most.

    `needs` are the exercises that one builds on. Nothing is said of a model that has learnt.
    """
    if isinstance(outcome, Learnt) and outcome.exact >= LEARNT:
        return [], []
    symptoms = list(_symptoms(outcome, history)) if isinstance(outcome, Learnt) else []
    roots = primary(outcome.faults, needs)
    if isinstance(outcome, Failure):  # what stands there already is not said again
        roots = [replace(one, told="") if outcome.said in one.told else one for one in roots]
    advice: list[Advice] = []
    for fault in sorted(roots, key=lambda one: _rank(one, symptoms)):
        if fault.exercise in [one.exercise for one in advice]:
            continue
        explained = [one.told for one in symptoms if fault.exercise in one.suspects]
        advice.append(Advice(fault.exercise, fault.told, explained[0] if explained else ""))
    if not advice and symptoms and symptoms[0].suspects:
        last = symptoms[0].suspects[-1]
        advice.append(Advice(last, "", symptoms[0].told))
    if isinstance(outcome, Learnt) and not symptoms and not advice:
        symptoms = [Symptom(MORE_TIME, ())]
    if isinstance(outcome, Failure) and not advice and outcome.file:
        exercise = outcome.file.rpartition("/")[2].removesuffix(".py")
        advice.append(Advice(exercise, ""))
    return symptoms, advice[:MOST]


def primary(faults: Sequence[Fault], needs: Needs) -> list[Fault]:
    """The faults of pieces that build on no other faulty piece."""
    faulty = {one.exercise for one in faults}
    return [one for one in faults if not faulty & set(needs(one.exercise))]


def _rank(fault: Fault, symptoms: Sequence[Symptom]) -> int:
    for place, symptom in enumerate(symptoms):
        if fault.exercise in symptom.suspects:
            return place
    return len(symptoms)


_SEEING = ("masks", "attention", "multi_head")
_LEARNING = (
    *("attention", "multi_head", "embedding", "layer_norm", "feed_forward", "sublayer"),
    *("encoder", "decoder", "transformer", "training"),
)


def _symptoms(learnt: Learnt, history: Sequence[Progress]) -> Iterator[Symptom]:
    """What the model does that one which learns does not, the most telling first."""
    does = learnt.behaviour
    loss, floor = learnt.loss, lowest_loss()
    if not math.isfinite(loss):
        yield Symptom(
            f"The loss is {loss} after {learnt.step} steps: somewhere a number became infinite.",
            (*_SEEING, "layer_norm", "encoder", "decoder", "transformer", "training"),
        )
    if does.future:
        yield Symptom(
            "A later character of the target changes what the model says before it. So it sees the "
            f"character that it should guess: the loss ({loss:.2f}; the lowest possible is "
            f"{floor:.2f}) tells nothing, and translating, where nothing comes later, fails.",
            (*_SEEING, "decoder", "transformer"),
        )
    if does.source is False:
        yield Symptom(
            "Another source changes nothing in what the model says: it does not look at what it "
            "reads.",
            ("attention", "multi_head", "encoder", "decoder", "transformer"),
        )
    if does.source_order is False or does.target_order is False:
        which = "source" if does.source_order is False else "target"
        yield Symptom(
            f"Eight times the same character in the {which} gives eight times the same vector: the "
            "model cannot tell places apart. Of the wrong translations "
            f"{does.reshuffled:.0%} have the right characters in a wrong order.",
            ("positional", "embedding", "transformer"),
        )
    if does.unreached:
        names = ", ".join(does.unreached[:3])
        more = f" and {len(does.unreached) - 3} more" if len(does.unreached) > 3 else ""
        yield Symptom(
            f"No gradient reaches {names}{more}: they stay what they were at the start.",
            _LEARNING,
        )
    if does.padding:
        yield Symptom(
            "More padding behind the source changes what the model says: it looks at padding.",
            (*_SEEING, "encoder", "decoder", "transformer"),
        )
    if does.teacher_forced > 0.9 and learnt.exact < 0.5 and not does.future:
        yield Symptom(
            f"After a right beginning, {does.teacher_forced:.0%} of the characters are right; "
            f"written from the start, {learnt.exact:.0%} of the dates are.",
            ("decoding", "training"),
        )
    if len(history) > 1 and learnt.step >= 100 and loss > 0.9 * history[0].loss:
        yield Symptom(
            f"After {learnt.step} steps the loss is {loss:.2f}; it began at {history[0].loss:.2f}: "
            "nothing was learnt.",
            ("training",),
        )
