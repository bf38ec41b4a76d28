"""Runs the checks of one exercise on one submission's code, in a process that holds it."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import Phase

from grader import curriculum
from grader.checks.framework import Check
from grader.curriculum import ordinary
from grader.curriculum.rules import listed, rule
from grader.feedback.finding import Finding, Status
from grader.feedback.mismatch import Mismatch, Proven
from grader.feedback.results import CheckResult
from grader.grading.explanation import explain, explain_use
from grader.grading.question import Outcome, Question
from grader.grading.recording import Example, Recording
from grader.grading.student_process import StudentProcess
from grader.remote.budget import Budget
from grader.remote.channel import Channel, decoded
from grader.remote.operators import View
from grader.remote.proxy import Student
from grader.remote.session import (
    Diverged,
    ForbiddenUse,
    Interrupted,
    Live,
    Lost,
    Replay,
    StudentError,
    TorchCall,
)
from grader.remote.trace import Value

EXERCISE_SECONDS, EXERCISE_IDLE = 60.0, 10.0
SHARED_SECONDS, SHARED_IDLE = 5.0, 1.0
MAX_LOSSES = 2
MAX_REMEMBERED = 100_000
SHRINK_SECONDS = 0.2
NOT_RUN = Finding("Not run, because your code hung or crashed earlier.")
TAMPERED = "Your code interferes with its own grading: a forbidden call was made."


class NotImportableError(Exception):
    """The student's module raises an error at import; the finding says which."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.headline)
        self.finding = finding


class Doubt(Interrupted):
    """Something is wrong with an exercise, or with one that was run before it in its process."""


class RightReplies:
    """Replies known to be right, by check, so that equal ones need not be checked.

    The cases of a run are the same for everybody, and a check sees nothing but the replies. `made`
    is what the lines of right answers make in some of the cases.
    """

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        self.made: dict[str, list[Value]] = {}

    @staticmethod
    def mark(check: Check, bodies: Sequence[bytes | bytearray]) -> bytes:
        """Return a key of these replies to a check, unique to them."""
        return _mark(bodies, f"{check.exercise}.{check.name}")

    def add(self, mark: bytes) -> None:
        """Remember it; a very large class starts over at times, so that memory does not grow."""
        if len(self.known) >= MAX_REMEMBERED:
            self.known.clear()
        self.known.add(mark)


def _mark(bodies: Sequence[bytes | bytearray], about: str = "") -> bytes:
    lengths = ",".join(str(len(body)) for body in bodies)
    heading = f"{about}\0{lengths}\0".encode()
    return hashlib.sha256(b"".join((heading, *bodies))).digest()


class ExerciseRun:
    """One exercise of one submission: the process that holds its code, and its state.

    Where it is not `alone`, code of the submission's other exercises has run in the process before.
    Anything but success is then no verdict: it raises `Doubt`, and the exercise is to be examined
    again in a fresh process. So is a call, `alone` or not, that only another exercise rules out:
    it needs a process that keeps no other rule. `passed` are the checks that were found right in
    such a run before the doubt: right replies are right wherever they were made, and the check is
    not run again. With `shrink` the first failure is reported with the smallest case that shows it.
    `refused` are the marks of the replies that checks refused, `largest` those to the largest case,
    `raised` the errors with which checks ended, `proven` what they found wrong with parameters or
    the graph, `said` what they say in words. `asked` are the marks of the replies to questions,
    by the frame that asks.
    With a `view` it is noted what of torch the code calls that is not ordinary.
    """

    def __init__(
        self,
        exercise: str,
        process: StudentProcess,
        right: RightReplies,
        alone: bool = True,
        shrink: bool = True,
        passed: Mapping[str, CheckResult] | None = None,
        view: View | None = None,
    ) -> None:
        self.exercise = exercise
        self.view = view
        self.process = process
        self.right = right
        self.alone = alone
        self.passed = dict(passed or {})
        self.refused: dict[str, bytes] = {}
        self.raised: dict[str, StudentError] = {}
        self.proven: dict[str, Proven] = {}
        self.said: dict[str, Mismatch] = {}
        self.largest: dict[str, list[bytearray]] = {}
        self.asked: dict[bytes, bytes] = {}
        self.channel: Channel | None = None
        seconds, idle = (
            (EXERCISE_SECONDS, EXERCISE_IDLE) if alone else (SHARED_SECONDS, SHARED_IDLE)
        )
        self.budget = Budget("The exercise", seconds, idle, process.budget)
        self.losses = 0
        self.shrunk = not shrink
        self.diverged = False
        self.verdict: tuple[Status, Finding] | None = None

    def check(self, recording: Recording) -> CheckResult:
        """Run one check. Whatever the student's code does becomes its result, or `Doubt`."""
        name = recording.check.name
        result = self.passed.get(name) or self._check(recording)
        if result.status is Status.PASSED:
            self.passed[name] = result
        elif not self.alone:
            raise Doubt
        return result

    def _check(self, recording: Recording) -> CheckResult:
        check = recording.check
        if self.verdict is not None:
            return check_result(check, Status.NOT_RUN)
        if self.losses >= MAX_LOSSES:
            return check_result(check, Status.NOT_RUN, NOT_RUN)
        refusal = self.budget.refusal()
        if refusal is not None:
            return check_result(check, Status.TIMEOUT, Finding(f"Not run. {refusal}"))
        try:
            failure = self._failure(recording, self._loaded())
        except Lost as lost:
            self.lose()
            return check_result(check, Status(lost.status), Finding(lost.message))
        except ForbiddenUse as use:
            return self._used(use, check)
        except NotImportableError as error:
            self.verdict = (Status.ERROR, error.finding)
            return check_result(check, Status.NOT_RUN)
        if failure is None:
            return check_result(check, Status.PASSED)
        if isinstance(failure, StudentError):
            self.raised[check.name] = failure
        if isinstance(failure, Proven):
            self.proven[check.name] = failure
        if isinstance(failure, Mismatch) and failure.says:
            self.said[check.name] = failure
        finding = explain(failure, self.process.sources, self.exercise)
        return check_result(check, _status_of(failure, finding), finding)

    def _used(self, refused: ForbiddenUse, check: Check) -> CheckResult:
        """Return the verdict on forbidden calls; `Doubt` if another exercise's rule counts."""
        uses = [use for use in refused.uses if use.name in rule(self.exercise).forbidden]
        if not uses and self.process.rules != (self.exercise,):
            raise Doubt
        if not uses:
            self.lose()
            return check_result(check, Status.PROTOCOL, Finding(TAMPERED))
        imported = self.channel is None
        finding = explain_use(uses, self.exercise, self.process.sources, imported)
        self.verdict = (Status.FAILED, finding)
        return check_result(check, Status.FAILED, finding)

    def _loaded(self) -> Channel:
        """Return a line to the process with the exercise loaded. Raises `NotImportableError`."""
        if self.channel is None:
            try:
                channel = self.process.load(self.exercise, budget=self.budget)
            except StudentError as error:
                raise NotImportableError(explain(error, self.process.sources)) from None
            undefined = self.process.cells.undefined
            if undefined and set(undefined) == set(curriculum.find(self.exercise).entries):
                names = listed([f"`{name}`" for name in undefined])
                none = "No" if len(undefined) == 1 else "None of"
                sentence = f"{none} {names} is defined before the tests of {self.exercise}."
                raise NotImportableError(Finding(sentence))
            self._probe(channel)
            if self.view is not None:
                self._watch(channel, self.view)
            self.channel = channel
        return self.channel

    def _watch(self, channel: Channel, view: View) -> None:
        texts = self.process.texts(self.exercise)
        try:
            channel.watch(self.exercise, texts, view, ordinary.known(self.exercise))
        except StudentError as error:
            raise NotImportableError(explain(error, self.process.sources)) from None

    def _probe(self, channel: Channel) -> None:
        """Make a forbidden call in the channel. Raises `Lost` if it is not refused there."""
        probe = rule(self.exercise).probe
        if not probe:
            return
        try:
            Live(channel).request({"op": "probe", "expression": probe})
        except ForbiddenUse:
            return
        except StudentError:
            pass  # a guard that breaks does not refuse either
        raise Lost("protocol", TAMPERED)

    def _failure(self, recording: Recording, channel: Channel) -> Exception | None:
        """Return what the check's body raises on the first case that it refuses."""
        self.diverged = False
        bodies = [
            body for frame, count in recording.frames for body in channel.gather(frame, count)
        ]
        mark = self.right.mark(recording.check, bodies)
        if mark in self.right.known:
            return None
        for case, answers in recording.answered([decoded(body) for body in bodies]):
            failure = self._attempt(recording, case, answers, channel)
            if failure is not None:
                self.refused[recording.check.name] = mark
                self.largest[recording.check.name] = bodies[-len(recording.cases[-1].requests) :]
                return (self.alone and self._smaller(recording, case, channel)) or failure
        if not self.diverged:
            self.right.add(mark)
        return None

    def _attempt(
        self, recording: Recording, case: Example, answers: list[Any], channel: Channel
    ) -> Exception | None:
        body = recording.check.body
        try:
            try:
                body(Student(Replay(case.requests, answers), recording.seed), **case.arguments)
            except Diverged:
                self.diverged = True
                body(Student(Live(channel), recording.seed), **case.arguments)
        except (OSError, MemoryError):
            raise
        except Exception as error:
            # Its frames would keep this run, with all replies, until Python collects garbage.
            error.__context__ = None
            return error.with_traceback(None)
        return None

    def _smaller(self, recording: Recording, case: Example, channel: Channel) -> Exception | None:
        """Return the failure of the smallest case that hypothesis finds in a short while, run live.

        It is not looked for where the smallest that was recorded fails: hypothesis draws the
        simplest case there is first, and hardly ever finds a smaller one.
        """
        shrunk, self.shrunk = self.shrunk, True
        if shrunk or case is recording.cases[0]:
            return None
        failures: list[Exception] = []
        deadline = time.monotonic() + SHRINK_SECONDS

        def attempt(student: None, **arguments: Any) -> None:  # noqa: ARG001
            if time.monotonic() > deadline:
                raise Diverged
            try:
                recording.check.body(Student(Live(channel), recording.seed), **arguments)
            except Exception as error:
                failures.append(error)
                raise

        test = recording.check.explore(attempt, recording.seed, (Phase.generate, Phase.shrink))
        with contextlib.suppress(Exception, Diverged):
            test(None)
        return failures[-1] if failures else None

    def ask(self, question: Question) -> list[Any] | None:
        """Return the replies to requests that belong to no check; None if the process dies."""
        self.asked[question.frame] = b""
        if self.losses >= MAX_LOSSES or self.budget.refusal():
            return None
        try:
            bodies = self._loaded().gather(question.frame, len(question.requests))
            self.asked[question.frame] = _mark(bodies)
            return question.replies(bodies)
        except Interrupted:  # code may behave differently when it is loaded again
            self.lose()
        except NotImportableError:
            pass
        return None

    def mark_of(self, question: Question) -> bytes:
        """Return a key of the replies to a question, unique to them; empty if there are none."""
        if question.frame not in self.asked:
            self.ask(question)
        return self.asked[question.frame]

    def seen(self) -> list[TorchCall] | None:
        """Return the calls to torch in the checks, with a `view`; None if the process is gone."""
        if self.channel is None:
            return None
        self.channel.budget = Budget("The reply", 1.0, 1.0)
        try:
            return self.channel.seen()
        except Interrupted:
            return None

    def outcome(self, recording: Recording) -> Outcome | None:
        """Return where the replies to the largest case of a failed check are wrong, if any are."""
        bodies = self.largest.get(recording.check.name)
        if bodies is None:
            return None
        try:
            replies = recording.largest.replies(bodies)
        except Lost:
            return None
        return recording.largest.outcome(recording.largest.read(replies))

    def lose(self) -> None:
        """Count a hang or a death; the next check gets a new channel."""
        self.losses += 1
        self.channel = None
        self.process.leave()


def check_result(check: Check, status: Status, finding: Finding | None = None) -> CheckResult:
    """Return what became of one check, with its points if it passed."""
    points = check.points if status is Status.PASSED else 0.0
    return CheckResult(check.name, check.title, status, points, check.points, finding)


def _status_of(failure: Exception, finding: Finding) -> Status:
    """To do is only what the student's own line says: torch raises NotImplementedError too."""
    if not isinstance(failure, StudentError):
        return Status.FAILED
    own = any(re.search(r"\braise\b", place.source) for place in finding.places)
    return Status.TODO if own and "NotImplementedError" in failure.kinds else Status.ERROR
