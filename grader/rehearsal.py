"""Draws the cases of a check once for a whole class, and records what the check asks on them.

The recording is made against the reference. For a submission the recorded requests then go out in
one frame, and the check's body runs on the replies: nothing of hypothesis is left in that loop.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import torch

from grader import checks, reference
from grader.checks import Check
from grader.checks.cases import Numbers
from grader.sandbox import wire
from grader.sandbox.proxy import Student
from grader.sandbox.server import Server
from grader.sandbox.session import Recorder, Request

MAX_DRAWS = 4


class RehearsalError(Exception):
    """A check that the reference itself does not pass: the kit's fault."""


@dataclass(frozen=True)
class Case:
    """One drawn example of a check: the test's arguments, and the requests that it makes."""

    arguments: dict[str, Any]
    requests: list[Request]
    size: int


@dataclass(frozen=True)
class Rehearsal:
    """A check with its cases, smallest first, and the frame that carries all their requests."""

    check: Check
    seed: int
    cases: tuple[Case, ...]
    frame: bytes

    @property
    def count(self) -> int:
        """How many replies the frame asks for."""
        return sum(len(case.requests) for case in self.cases)


class Repertoire:
    """The rehearsed checks of every exercise, all from one seed, each made when it is asked for.

    From then on torch uses one thread in this process, as in that of the student's code: what both
    compute is compared. And a process whose torch has had more cannot be forked.
    """

    def __init__(self, seed: int) -> None:
        torch.set_num_threads(1)
        self.seed = seed
        self._rehearsed: dict[str, list[Rehearsal]] = {}

    def of(self, exercise: str) -> list[Rehearsal]:
        """The checks of an exercise. Raises `RehearsalError` if the reference fails one of them."""
        if exercise not in self._rehearsed:
            answer = reference.module(exercise)
            self._rehearsed[exercise] = [
                rehearse(check, answer, self.seed) for check in checks.load(exercise)
            ]
        return self._rehearsed[exercise]


def rehearse(check: Check, answer: Any, run_seed: int) -> Rehearsal:
    """Draws the check's cases and records them against the reference's module, `answer`.

    Rarely a case is drawn that tells nothing, a gradient that happens to vanish say. The reference
    fails it, and others are drawn. Raises `RehearsalError` if it fails those too.
    """
    name = f"{check.exercise}.{check.name}"
    failure: Exception | None = None
    for draws in range(MAX_DRAWS):
        number = zlib.crc32(f"{run_seed}/{name}/{draws}".encode())
        try:
            return _rehearse(check, answer, number)
        except Exception as error:
            failure = error
    raise RehearsalError(f"the reference fails {name} at seed {run_seed}: {failure}") from failure


def _rehearse(check: Check, answer: Any, number: int) -> Rehearsal:
    Numbers.run_seed = number
    cases = []
    for arguments in draw(check, number):
        recorder = Recorder(Server(answer))
        check.body(Student(recorder, number), **arguments)
        requests = recorder.requests
        cases.append(Case(arguments, requests, len(wire.encode(requests))))
    cases.sort(key=lambda case: case.size)
    frame = wire.encode([request for case in cases for request in case.requests])
    return Rehearsal(check, number, tuple(cases), frame)


def draw(check: Check, number: int) -> list[dict[str, Any]]:
    """The arguments, besides the student, of every example that hypothesis draws from this seed."""
    if not check.strategies:
        return [{}]
    drawn: list[dict[str, Any]] = []

    def keep(student: None, **arguments: Any) -> None:  # noqa: ARG001 - hypothesis passes it by name
        drawn.append(arguments)

    check.explore(keep, number)(None)
    return drawn
