"""Tasks of the capstone: a model to train, and the texts about it.

A `Task` belongs to the parent process: it doesn't import torch, so that commands start at once. Its
`Learner` trains, in a separate process or in a notebook's kernel.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.capstone.events import Behaviour, Prediction, Report, Scored, Trained, Translation
from grader.capstone.exam import Exam, Learnt, Progress

LOOK_EVERY = 100  # steps between looks at unseen examples
TELL_EVERY = 0.5  # seconds between reports
BOLD, ALARM, WARNING, PLAIN = "bold", "bold red", "yellow", ""
Line = tuple[str, str]


@dataclass(frozen=True)
class Plan:
    """How long to train: `seconds`, and at most `steps` if that is not 0.

    At the end, the model is measured on `unseen` examples; 0 leaves the number to the task. During
    the training it is asked the exam's `sample`. `text` is what it learns from if the task doesn't
    generate its data. The other options say how a model that writes samples its tokens.
    """

    seconds: float
    seed: int
    steps: int = 0
    unseen: int = 0
    sample: Sequence[str] = ()
    text: str = ""
    temperature: float = 0.8
    top_k: int | None = None
    top_p: float | None = None


@dataclass(frozen=True)
class Symptom:
    """A fault of the whole model, and the exercises that may cause it."""

    told: str
    suspects: tuple[str, ...]


# Signals that the code is alive, and what it does next if that is new.
Sign = Callable[..., None]


def silent(doing: str = "") -> None:
    """A `Sign` that nobody needs."""
    del doing


class Learner(ABC):
    """A model made of a student's pieces, and its training.

    Exceptions of the pieces propagate; `ContractError` says that one returned something that no
    training can use.
    """

    model: Any
    optimiser: Any

    def __init__(self, pieces: Mapping[str, Any], plan: Plan, sign: Sign = silent) -> None:
        """Make the model of `pieces`, the entries of the exercises by name."""
        self.pieces = pieces
        self.plan = plan
        self.sign = sign
        self.step = 0
        self.seconds = 0.0
        self.loss = math.nan

    @abstractmethod
    def example(self) -> Sequence[Any]:
        """Return a few inputs of the model, as tensors."""

    @abstractmethod
    def advance(self) -> list[float]:
        """Train for a step or a few, with a sign before each; return their losses."""

    @abstractmethod
    def behaviour(self) -> Behaviour:
        """Return what the trained model does, measured from outside."""

    @abstractmethod
    def shown(self) -> Sequence[str]:
        """Return texts whose answers are shown at the end."""

    @abstractmethod
    def answer(self, text: str) -> Translation:
        """Return what the trained model makes of a text that somebody typed."""

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return what the model makes of the questions of an exam. Not every task has it."""
        raise NotImplementedError

    def scored(self, text: str) -> Scored:
        """Return a text as tokens, and how probable the model finds each. Not every task has it."""
        raise NotImplementedError

    def predicted(self, ids: Sequence[int]) -> Prediction:
        """Return what the model expects after these tokens. Not every task has it."""
        raise NotImplementedError

    def run(self, stopped: Callable[[], bool], tell: Callable[[Report], None]) -> None:
        """Train until the plan is done or `stopped` says so, and tell how it goes."""
        began, reported = time.monotonic(), 0.0
        losses: list[float] = []
        is_over = False
        while not is_over:
            losses += self.advance()
            self.seconds = time.monotonic() - began
            is_over = stopped() or self.is_done() or not math.isfinite(losses[-1])
            is_look = self.step % LOOK_EVERY == 0
            if is_look or is_over or self.seconds - reported > TELL_EVERY:
                reported, self.loss = self.seconds, sum(losses) / len(losses)
                losses = []
                rate = float(self.optimiser.param_groups[0]["lr"])
                report = Report(self.step, self.seconds, self.loss, rate)
                tell(self.look(report) if is_look and self.plan.sample else report)

    def is_done(self) -> bool:
        """Return whether the plan's steps or seconds are over."""
        last = bool(self.plan.steps) and self.step >= self.plan.steps
        return last or self.seconds >= self.plan.seconds

    def look(self, report: Report) -> Report:
        """Return the report with what the model makes of the plan's sample."""
        return replace(report, answers=self.answers(self.plan.sample))

    def conclude(self, stopped: bool) -> Trained:
        """Measure what the trained model does."""
        self.sign("measuring what the model does")
        behaviour = self.behaviour()
        self.sign("writing")
        return Trained(
            step=self.step,
            seconds=self.seconds,
            loss=self.loss,
            stopped=stopped,
            behaviour=behaviour,
            translations=[self.answer(text) for text in self.shown()],
        )


class Task(ABC):
    """Something to learn, called `name` in `--task`; `learners.LEARNERS` has its learner.

    It trains for `seconds` by default. `entries` are the exercises that the model is made of, and
    the names used of each. `invitation` says what to type once the model is trained.
    """

    name: str
    seconds: float
    entries: Mapping[str, tuple[str, ...]]
    invitation: str

    @abstractmethod
    def exam(self, plan: Plan) -> Exam:
        """Return the unseen examples that the model is measured on."""

    def material(self, plan: Plan) -> str:
        """Return the text to learn from; "" where the learner makes its examples itself."""
        del plan
        return ""

    def question(self, typed: str) -> str:
        """Return what the model reads of what somebody typed. Raises ValueError with a sentence."""
        return typed

    @abstractmethod
    def shown(self, answer: Translation) -> str:
        """Return the model's answer as it is shown."""

    def numbers(self, event: Progress) -> str:
        """Return how the training goes, on one line."""
        measured = self.measured(event)
        return f"step {event.step}   loss {event.loss:.3f}   rate {event.rate:.4f}" + (
            f"   {measured}" if measured else ""
        )

    @abstractmethod
    def measured(self, event: Progress) -> str:
        """Return what the last look at unseen examples measured; "" before the first."""

    @abstractmethod
    def has_learnt(self, learnt: Learnt) -> bool:
        """Return whether the model is so good that nothing can be wrong with its pieces."""

    @abstractmethod
    def lines(self, learnt: Learnt) -> Iterator[Line]:
        """Return what came of the training, as lines and how each is printed."""

    @abstractmethod
    def symptoms(self, learnt: Learnt, history: Sequence[Progress]) -> Iterator[Symptom]:
        """Return the symptoms that a model which learns does not have, the most telling first."""

    @abstractmethod
    def figures(self, learnt: Learnt, history: Sequence[Progress]) -> dict[str, Any]:
        """Return the pictures by file name."""


def after(learnt: Learnt) -> str:
    """Return how long the training took, as in "after 900 steps and 30 s, stopped early"."""
    early = ", stopped early" if learnt.stopped else ""
    return f"after {learnt.step} steps and {learnt.seconds:.0f} s{early}"
