"""Draws the cases of a check once for a whole class, and records what the check asks on them.

The recording is made against the reference. For a submission the recorded requests then go out in
one frame, and the check's body runs on the replies: nothing of hypothesis is left in that loop.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from grader.checks import framework
from grader.checks.framework import Check
from grader.curriculum import reference
from grader.grading.question import Question
from grader.remote import wire
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Recorder, Request

MAX_DRAWS = 4


class RecordingError(Exception):
    """A check that the reference itself does not pass: the kit's fault."""


@dataclass(frozen=True)
class Example:
    """One drawn example of a check: the test's arguments, and the requests that it makes.

    `right` are the reference's replies to them, and `repeatable` says whether another process gives
    the same ones. Requests whose numbers are in `waits` are sent when the replies to all before
    have come.
    """

    arguments: dict[str, Any]
    requests: list[Request]
    right: tuple[Any, ...]
    waits: frozenset[int]
    size: int
    repeatable: bool


@dataclass(frozen=True)
class Recording:
    """A check with its cases, smallest first, and the frames that carry all their requests.

    With each frame comes how many replies it asks for. No frame holds what the reply to one of its
    own requests has to be.
    """

    check: Check
    seed: int
    cases: tuple[Example, ...]
    frames: tuple[tuple[bytes, int], ...]

    @cached_property
    def largest(self) -> Question:
        """The largest case, to see where replies to it are wrong."""
        return Question(self.check.name, self.cases[-1].requests, self.cases[-1].right)

    @cached_property
    def smallest(self) -> Recording:
        """The same check with its smallest case alone."""
        cases = self.cases[:1]
        return replace(self, cases=cases, frames=frames(cases))

    def answered(self, replies: list[Any]) -> Iterator[tuple[Example, list[Any]]]:
        """Yield each case with the replies to its requests, taken in order from all replies."""
        position = 0
        for case in self.cases:
            yield case, replies[position : position + len(case.requests)]
            position += len(case.requests)


class Recordings:
    """The recorded checks of every exercise, all from one seed, each made when first needed.

    From then on torch uses one thread in this process, as in that of the student's code: what both
    compute is compared. And a process whose torch has had more cannot be forked.
    """

    def __init__(self, seed: int) -> None:
        torch.set_num_threads(1)
        self.seed = seed
        self._recorded: dict[str, list[Recording]] = {}

    def of(self, exercise: str) -> list[Recording]:
        """Return the checks of an exercise. Raises `RecordingError` if the reference fails one."""
        if exercise not in self._recorded:
            self._recorded[exercise] = self.some(exercise, framework.load(exercise))
        return self._recorded[exercise]

    def some(self, exercise: str, checks: Iterable[Check]) -> list[Recording]:
        """Return some checks of an exercise, made now. Raises `RecordingError` as well."""
        answer = reference.module(exercise)
        return [record(check, answer, self.seed) for check in checks]


def record(check: Check, answer: Any, run_seed: int) -> Recording:
    """Draw the check's cases and record them against the reference's module, `answer`.

    Rarely a case is drawn that tells nothing, a gradient that happens to vanish say. The reference
    fails it, and others are drawn. Raises `RecordingError` if it fails those too.
    """
    name = f"{check.exercise}.{check.name}"
    failure: Exception | None = None
    for draws in range(MAX_DRAWS):
        number = zlib.crc32(f"{run_seed}/{name}/{draws}".encode())
        try:
            return _record(check, answer, number)
        except Exception as error:
            failure = error
    raise RecordingError(
        f"the reference fails {name} at seed {run_seed}: {failure}. If it does at other seeds too, "
        f"fix the check in grader/checks/{check.exercise}.py or the answer in "
        f"solutions/{check.exercise}.py."
    ) from failure


def _record(check: Check, answer: Any, number: int) -> Recording:
    cases = []
    for arguments in draw(check, number):
        recorder = Recorder(Server(answer))
        check.body(Student(recorder, number), **arguments)
        requests, waits = recorder.requests, frozenset(recorder.waits)
        size = len(wire.encode(requests))
        replies, repeatable = tuple(recorder.replies), not recorder.shares
        cases.append(Example(arguments, requests, replies, waits, size, repeatable))
    cases.sort(key=lambda case: case.size)
    return Recording(check, number, tuple(cases), frames(cases))


def frames(cases: Sequence[Example]) -> tuple[tuple[bytes, int], ...]:
    """Return the frames with the requests of these cases, and how many replies each needs."""
    parts: list[list[Request]] = [[]]
    for case in cases:
        for number, request in enumerate(case.requests):
            if number in case.waits:
                parts.append([])
            parts[-1].append(request)
    return tuple((wire.encode(part), len(part)) for part in parts)


def draw(check: Check, number: int) -> list[dict[str, Any]]:
    """Return the arguments, without `student`, of each example drawn from this seed."""
    if not check.inputs:
        return [{}]
    drawn: list[dict[str, Any]] = []

    def keep(student: None, **arguments: Any) -> None:  # noqa: ARG001 - hypothesis passes it by name
        drawn.append(arguments)

    check.explore(keep, number)(None)
    return drawn
