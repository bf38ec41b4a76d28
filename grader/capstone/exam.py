"""Exams, which measure in the parent process how good a trained model is.

The exam holds the unseen examples and asks for answers; the training process's own figures don't
count. Code that computes the answers without a model can't be told from a model that has learnt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from grader.capstone.events import Failure, Fault, Prediction, Report, Scored, Trained

AT_ONCE = 100  # questions of one request
MOST_WRONG = 12


class BrokenOffError(Exception):
    """The student's code failed during an exam."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.said)
        self.failure = failure


class Examinee(Protocol):
    """A trained model, here or in another process. Raises what its code raises."""

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return what the model makes of each text."""

    def scored(self, text: str) -> Scored:
        """Return the text as tokens, and how probable the model finds each."""

    def predicted(self, ids: Sequence[int]) -> Prediction:
        """Return what the model expects after these tokens."""


@dataclass(frozen=True)
class Progress:
    """The progress of a training, with the measurements of the last look.

    `exact` is the share of unseen examples answered without a fault, `bits` the bits per character
    of unseen text; NaN if a task does not measure it.
    """

    step: int
    seconds: float
    loss: float
    rate: float
    exact: float = math.nan
    bits: float = math.nan


@dataclass(frozen=True)
class Example:
    """An unseen question, its answer and the model's answer."""

    source: str
    expected: str
    got: str
    language: str


@dataclass(frozen=True)
class Learnt(Trained):
    """The result of a training: its process's report, and the exam's measurements.

    `exact` of `count` unseen examples were answered without a fault; `languages` has the share by
    group, and `reshuffled` is the share of wrong answers with the right characters in the wrong
    order. `bits` is the number of bits per character of unseen text, `zlib` that of zlib. If the
    exam rejects the model's scores, `refuted` says why.
    """

    exact: float = math.nan
    count: int = 0
    languages: Mapping[str, float] = field(default_factory=dict)
    wrong: list[Example] = field(default_factory=list)
    reshuffled: float = 0.0
    bits: float = math.nan
    zlib: float = math.nan
    refuted: str = ""
    faults: list[Fault] = field(default_factory=list)


class Exam(Protocol):
    """Unseen examples, and how to judge answers to them."""

    @property
    def sample(self) -> Sequence[str]:
        """What the model is asked on the way."""

    def progress(self, report: Report, before: Progress | None) -> Progress:
        """Return a report with measurements: new ones at a look, else the last ones."""

    def hold(self, trained: Trained, examinee: Examinee) -> Learnt:
        """Return the whole exam. Raises what the examinee's code raises."""


class AnswerExam:
    """An exam of questions that have one right answer each."""

    def __init__(self, questions: Sequence[Example], sample: int) -> None:
        """`questions` have no answers yet; the first `sample` are asked on the way, too."""
        self.questions = questions
        self.sample = [question.source for question in questions[:sample]]

    def progress(self, report: Report, before: Progress | None) -> Progress:
        """Return a report, with the share of exact answers at the last look."""
        exact = before.exact if before else 0.0
        if len(report.answers) == len(self.sample):
            pairs = zip(report.answers, self.questions, strict=False)
            exact = sum(text == example.expected for text, example in pairs) / len(self.sample)
        return Progress(report.step, report.seconds, report.loss, report.rate, exact)

    def hold(self, trained: Trained, examinee: Examinee) -> Learnt:
        """Ask all questions."""
        texts: list[str] = []
        for start in range(0, len(self.questions), AT_ONCE):
            part = self.questions[start : start + AT_ONCE]
            texts += examinee.answers([question.source for question in part])
        answered = [
            Example(question.source, question.expected, text, question.language)
            for question, text in zip(self.questions, texts, strict=True)
        ]
        groups: dict[str, list[bool]] = {}
        for example in answered:
            groups.setdefault(example.language, []).append(example.got == example.expected)
        wrong = [example for example in answered if example.got != example.expected]
        shuffled = sum(sorted(example.got) == sorted(example.expected) for example in wrong)
        return Learnt(
            **vars(trained),
            exact=(len(answered) - len(wrong)) / len(answered),
            count=len(answered),
            languages={name: sum(right) / len(right) for name, right in sorted(groups.items())},
            wrong=wrong[:MOST_WRONG],
            reshuffled=shuffled / max(1, len(wrong)),
        )
