"""Runs the checks of one exercise on one submission's code, in a process that holds it."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Sequence
from typing import Any

from hypothesis import Phase

from grader import curriculum
from grader.checks import Check
from grader.checks.cases import Numbers
from grader.explanation import explain
from grader.rehearsal import Case, Rehearsal
from grader.results import CheckResult, Status
from grader.rules import rule
from grader.sandbox.host import Child, decoded
from grader.sandbox.proxy import Student
from grader.sandbox.session import (
    Diverged,
    ForbiddenUse,
    Interrupted,
    Live,
    Lost,
    Replay,
    StudentError,
)
from grader.sitting import Sitting

EXERCISE_SECONDS = 20.0
COMPANY_SECONDS = 5.0
MAX_LOSSES = 2
MAX_REMEMBERED = 100_000
SHRINK_SECONDS = 0.2
TAMPERED = "Your code interferes with how it is graded: a call that is ruled out was carried out."


class NotImportableError(Exception):
    """The student's module raises while it is imported; the text says how."""


class Doubt(Interrupted):
    """Something is wrong with an exercise, or with one that was run before it in its process."""


class RightReplies:
    """The replies that were found right, by check, so that equal ones need not be looked at.

    The cases of a run are the same for everybody, and a check sees nothing but the replies.
    """

    def __init__(self) -> None:
        self.known: set[bytes] = set()

    @staticmethod
    def mark(check: Check, bodies: Sequence[bytes | bytearray]) -> bytes:
        """What stands for these replies to a check: the same for no others."""
        lengths = ",".join(str(len(body)) for body in bodies)
        heading = f"{check.exercise}.{check.name}\0{lengths}\0".encode()
        return hashlib.sha256(b"".join((heading, *bodies))).digest()

    def add(self, mark: bytes) -> None:
        """Remembers it; a very large class starts over at times, so that memory does not grow."""
        if len(self.known) >= MAX_REMEMBERED:
            self.known.clear()
        self.known.add(mark)


class Examination:
    """One exercise of one submission: the child that holds its code, and what became of it.

    Where it is not `alone`, code of the submission's other exercises has run in the child before.
    Anything but success is then no verdict: it raises `Doubt`, and the exercise is to be examined
    again in a child of its own.
    """

    def __init__(
        self, exercise: str, sitting: Sitting, right: RightReplies, alone: bool = True
    ) -> None:
        self.exercise = exercise
        self.sitting = sitting
        self.right = right
        self.alone = alone
        self.child: Child | None = None
        self.first_bodies: dict[str, list[bytearray]] = {}
        self.deadline = time.monotonic() + (EXERCISE_SECONDS if alone else COMPANY_SECONDS)
        self.losses = 0
        self.shrunk = False
        self.diverged = False
        self.verdict: tuple[Status, str] | None = None

    @property
    def first_replies(self) -> dict[str, list[Any]]:
        """What the child answered to the first case of every check that it survived."""
        return {
            name: [decoded(body) for body in bodies] for name, bodies in self.first_bodies.items()
        }

    def check(self, rehearsal: Rehearsal) -> CheckResult:
        """Runs one check. Whatever the student's code does becomes its result, or `Doubt`."""
        result = self._check(rehearsal)
        if not self.alone and result.status != "passed":
            raise Doubt
        return result

    def _check(self, rehearsal: Rehearsal) -> CheckResult:
        check = rehearsal.check
        if self.verdict is not None:
            return check_result(check, "not_run", "")
        if self.losses >= MAX_LOSSES or time.monotonic() > self.deadline:
            return check_result(check, "not_run", "Not run, since your code hung or died before.")
        try:
            failure = self._failure(rehearsal, self._loaded())
        except Lost as lost:
            self.lose()
            return check_result(check, lost.status, lost.message)
        except ForbiddenUse as use:
            message = rule(self.exercise).message(use.names)
            self.verdict = ("failed", message)
            return check_result(check, "failed", message)
        except NotImportableError as error:
            self.verdict = ("error", str(error))
            return check_result(check, "not_run", "")
        if failure is None:
            return check_result(check, "passed", "")
        return check_result(check, _status_of(failure), explain(failure, self.sitting.sources))

    def _loaded(self) -> Child:
        """The child with the exercise loaded. Raises `NotImportableError`."""
        if self.child is None:
            try:
                child = self.sitting.load(self.exercise, curriculum.closure(self.exercise))
            except StudentError as error:
                raise NotImportableError(explain(error, self.sitting.sources)) from None
            self._probe(child)
            self.child = child
        return self.child

    def _probe(self, child: Child) -> None:
        """Makes a forbidden call in the child. Raises `Lost` if it is not refused there."""
        probe = rule(self.exercise).probe
        if not probe:
            return
        try:
            Live(child).request({"op": "probe", "expression": probe})
        except ForbiddenUse:
            return
        except StudentError:
            pass  # a guard that breaks does not refuse either
        raise Lost("protocol", TAMPERED)

    def _failure(self, rehearsal: Rehearsal, child: Child) -> Exception | None:
        """What the check's body raises on the first case that it refuses."""
        Numbers.run_seed = rehearsal.seed
        self.diverged = False
        bodies = child.gather(rehearsal.frame, rehearsal.count)
        mark = self.right.mark(rehearsal.check, bodies)
        known = mark in self.right.known
        replies = [] if known else [decoded(body) for body in bodies]
        self.first_bodies[rehearsal.check.name] = bodies[: len(rehearsal.cases[0].requests)]
        if known:
            return None
        position = 0
        for case in rehearsal.cases:
            answers = replies[position : position + len(case.requests)]
            position += len(case.requests)
            failure = self._attempt(rehearsal, case, answers, child)
            if failure is not None:
                return (self.alone and self._smallest(rehearsal, child)) or failure
        if not self.diverged:
            self.right.add(mark)
        return None

    def _attempt(
        self, rehearsal: Rehearsal, case: Case, answers: list[Any], child: Child
    ) -> Exception | None:
        body = rehearsal.check.body
        try:
            try:
                body(Student(Replay(case.requests, answers), rehearsal.seed), **case.arguments)
            except Diverged:
                self.diverged = True
                body(Student(Live(child), rehearsal.seed), **case.arguments)
        except (OSError, MemoryError):
            raise
        except Exception as error:
            return error
        return None

    def _smallest(self, rehearsal: Rehearsal, child: Child) -> Exception | None:
        """The failure of the smallest case that hypothesis finds in a short while, run live."""
        if self.shrunk or not rehearsal.check.strategies:
            return None
        self.shrunk = True
        failures: list[Exception] = []
        deadline = time.monotonic() + SHRINK_SECONDS

        def attempt(student: None, **arguments: Any) -> None:  # noqa: ARG001
            if time.monotonic() > deadline:
                raise Diverged
            try:
                rehearsal.check.body(Student(Live(child), rehearsal.seed), **arguments)
            except Exception as error:
                failures.append(error)
                raise

        test = rehearsal.check.explore(attempt, rehearsal.seed, (Phase.generate, Phase.shrink))
        with contextlib.suppress(Exception, Diverged):
            test(None)
        return failures[-1] if failures else None

    def lose(self) -> None:
        """Counts a hang or a death; the next check gets a new child."""
        self.losses += 1
        self.child = None
        self.sitting.leave()


def check_result(check: Check, status: Status, message: str) -> CheckResult:
    """What became of one check, with its points if it passed."""
    points = check.points if status == "passed" else 0.0
    return CheckResult(check.name, check.title, status, points, check.points, message)


def _status_of(failure: Exception) -> Status:
    if not isinstance(failure, StudentError):
        return "failed"
    return "todo" if "NotImplementedError" in failure.kinds else "error"
