"""Advice for a model that has not learnt: which exercise to look at, and its mistake.

The behaviour of the whole model is the symptom; public tests locate the piece that causes it, and
the known mistakes give it a name. A piece that builds on a wrong one is not blamed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.board import known
from grader.capstone.events import Failure, Fault
from grader.capstone.exam import Learnt, Progress
from grader.capstone.task import Symptom, Task
from grader.curriculum import closure

MOST = 2
MORE_TIME = (
    "Nothing wrong was found in your pieces: it needs more steps. Give it more time with --seconds."
)

Ask = Callable[[str, bytes], Sequence[str]]


@dataclass(frozen=True)
class Advice:
    """An exercise to look at, and what its public test says, or that of `tested`, which uses it.

    `test` is the test's title, `symptom` a matching behaviour of the whole model, and `mistake` the
    text of the known mistake.
    """

    exercise: str
    told: str
    symptom: str = ""
    tested: str = ""
    test: str = ""
    mistake: str = ""


def advise(
    task: Task, outcome: Learnt | Failure, history: Sequence[Progress]
) -> tuple[list[Symptom], list[Advice]]:
    """Return the symptoms, and the exercises to look at, the one that explains most first.

    There are none for a model that has learnt.
    """
    if isinstance(outcome, Learnt) and task.has_learnt(outcome):
        return [], []
    symptoms = list(task.symptoms(outcome, history)) if isinstance(outcome, Learnt) else []
    roots = primary(outcome.faults)
    if isinstance(outcome, Failure):  # don't repeat its text
        roots = [replace(root, told="") if outcome.said in root.told else root for root in roots]
    advice: list[Advice] = []
    for fault in sorted(roots, key=lambda root: _rank(root, symptoms)):
        if fault.exercise in [known.exercise for known in advice]:
            continue
        explained = [symptom.told for symptom in symptoms if fault.exercise in symptom.suspects]
        symptom = explained[0] if explained else ""
        advice.append(Advice(fault.exercise, fault.told, symptom, fault.tested, fault.test))
    if isinstance(outcome, Learnt) and not symptoms and not advice:
        symptoms = [Symptom(MORE_TIME, ())]
    if isinstance(outcome, Failure) and not advice and outcome.file:
        exercise = outcome.file.rpartition("/")[2].removesuffix(".py")
        advice.append(Advice(exercise, ""))
    return symptoms, advice[:MOST]


def with_mistakes(
    advised: Sequence[Advice], ask: Ask, prepare: Callable[[str], None] = lambda _: None
) -> list[Advice]:
    """Return the advice with the texts of known mistakes.

    `ask` compares the student's piece with the known mistakes of an exercise; `prepare` is called
    first if their data has to be made, which takes a minute.
    """
    named = []
    for advice in advised:
        if not known.is_at_hand(advice.exercise):
            prepare(advice.exercise)
        named.append(replace(advice, mistake=_mistake(advice.exercise, ask)))
    return named


def suspected(symptoms: Sequence[Symptom], own: Sequence[str], ask: Ask) -> list[Advice]:
    """Return the first of the student's `own` pieces that may cause a symptom and looks known.

    It is for mistakes that no public test sees, and only uses data that is there already.
    """
    for symptom in symptoms:
        for exercise in own:
            if exercise in symptom.suspects and known.is_at_hand(exercise):
                mistake = _mistake(exercise, ask)
                if mistake:
                    return [Advice(exercise, "", symptom.told, mistake=mistake)]
    return []


def _mistake(exercise: str, ask: Ask) -> str:
    """Return what is said of the mistake in a piece; "" if it is not a known one."""
    try:
        content = known.read(exercise)
        words = known.decoded(exercise, content).words
    except known.NoHintsError:
        return ""
    tells = [words[name].tells for name in ask(exercise, content) if name in words]
    return " Or, with the same symptoms: ".join(tells)


def primary(faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults of pieces that build on no other faulty piece."""
    faulty = {fault.exercise for fault in faults}
    return [fault for fault in faults if not faulty & set(closure(fault.exercise))]


def _rank(fault: Fault, symptoms: Sequence[Symptom]) -> int:
    for position, symptom in enumerate(symptoms):
        if fault.exercise in symptom.suspects:
            return position
    return len(symptoms)
