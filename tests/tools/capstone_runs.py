"""Short runs of the capstone in this process, for its tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

from grader.capstone import child, tasks
from grader.capstone.events import (
    Answers,
    Event,
    Failure,
    Faults,
    Prediction,
    Report,
    Scored,
    Trained,
    event_from,
)
from grader.capstone.exam import AnswerExam, Learnt, Progress
from grader.capstone.task import Plan
from grader.capstone.trial import Trial
from grader.curriculum import mistakes, stubs, whole_model

DATES = tasks.find("dates")
FEW = 66  # unseen dates to translate at the end


def right(name: str) -> str:
    return stubs.reference_source(name)


def wrong(exercise: str, name: str) -> str:
    (mistake,) = [
        known_mistake for known_mistake in mistakes.load(exercise) if known_mistake.name == name
    ]
    return mistake.apply(right(exercise).replace("from exercises", "from solutions")).replace(
        "from solutions", "from exercises"
    )


def trial(own: dict[str, str], steps: int, task: str = "dates") -> Trial:
    chosen = tasks.find(task)
    model = whole_model.gather(own, chosen.entries)
    return Trial(chosen, model, Plan(600, 3, steps, unseen=FEW))


class Answered:
    """A trained model that has been asked already."""

    def __init__(self, event: Event) -> None:
        self.event = event

    def answers(self, texts: Sequence[str]) -> list[str]:
        assert isinstance(self.event, Answers), self.event
        assert len(texts) == len(self.event.texts)
        return self.event.texts

    def scored(self, text: str) -> Scored:
        raise AssertionError(text)

    def predicted(self, ids: Sequence[int]) -> Prediction:
        raise AssertionError(ids)


def run(
    own: dict[str, str], *questions: str, steps: int = 1, task: str = "dates"
) -> list[Event | Progress | Learnt]:
    """All that the process would say of these files after a few steps, and to what is asked.

    Progress is in the place of reports, and what came of the training in that of its end.
    """
    made = trial(own, steps, task)
    exam = made.exam
    assert isinstance(exam, AnswerExam)
    lines = [
        {**made.job, "patience": 60.0},
        {"faults": True},
        {"answers": [question.source for question in exam.questions]},
        *({"translate": text} for text in questions),
    ]
    writing = StringIO()
    reading = StringIO("".join(json.dumps(line) + "\n" for line in lines))
    child.Worker(reading, writing).work()
    events = [event_from(line) for line in writing.getvalue().splitlines()]
    (position,) = [number for number, event in enumerate(events) if isinstance(event, Faults)]
    outcome, result, answers = events[position - 1 : position + 2]
    before: list[Event | Progress | Learnt] = []
    for event in events[: position - 1]:
        assert isinstance(event, Report)
        before.append(exam.progress(event, None))
    assert isinstance(result, Faults)
    if isinstance(outcome, Trained):
        learnt = exam.hold(outcome, Answered(answers))
        return [*before, replace(learnt, faults=result.faults), *events[position + 2 :]]
    assert isinstance(outcome, Failure)
    return [*before, replace(outcome, faults=[*result.faults, *outcome.faults])]
