"""The outcome of a training in words, line by line, for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.capstone.advice import Advice
from grader.capstone.events import Failure, Translation
from grader.capstone.exam import Learnt
from grader.capstone.task import ALARM, BOLD, PLAIN, WARNING, Line, Symptom, Task


def told(
    task: Task,
    outcome: Learnt | Failure,
    symptoms: Sequence[Symptom],
    advised: Sequence[Advice],
    folder: Path,
    test: str,
) -> list[Line]:
    """Return the outcome and the exercises to look at, as lines with their styles.

    The student's files are in `folder`; `test` is the command that tests an exercise, as in
    "pytest test_{}.py".
    """
    lines = list(_failed(outcome, folder) if isinstance(outcome, Failure) else task.lines(outcome))
    if isinstance(outcome, Learnt):
        lines += [(f"  {note}", PLAIN) for note in outcome.notes]
    for symptom in symptoms:
        lines += [("", PLAIN), (f"  {symptom.told}", WARNING)]
        if symptom.suspects and not advised:
            lines.append((f"  It may come from {_either(symptom.suspects)}.", PLAIN))
    for advice in advised:
        lines += [("", PLAIN), *_advised(advice, test)]
    return lines


def _advised(advice: Advice, test: str) -> Iterator[Line]:
    by_others = advice.tested not in ("", advice.exercise)
    shows = f", which {advice.tested} uses" if by_others else ""
    yield f"Look at {advice.exercise}{shows}.", BOLD
    if advice.test:
        yield f"  This public test fails: {advice.test}", PLAIN
    if advice.told:
        yield f"  {advice.told}", PLAIN
    if advice.mistake:
        yield f"  It looks like this: {advice.mistake}", PLAIN
    yield f"  {test.format(advice.tested or advice.exercise)}", PLAIN


def _either(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def answered(task: Task, answer: Translation | Failure, question: str = "") -> str:
    """Return an answer as it is shown, behind what was `asked`."""
    if isinstance(answer, Failure):
        return f"Your code could not go on: {answer.said}"
    return (f"{question} → " if question else "") + task.shown(answer)


def _failed(outcome: Failure, folder: Path) -> Iterator[Line]:
    yield f"Your code could not go on ({outcome.doing}).", ALARM
    if outcome.file:
        inside = f", in {outcome.inside}" if outcome.inside else ""
        yield f"  {folder / Path(outcome.file).name}:{outcome.line}{inside}", PLAIN
        yield f"      {outcome.source}", PLAIN
    yield f"  {outcome.said}", PLAIN
