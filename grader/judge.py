"""Runs the hidden checks on one student's work and returns what they found; it prints nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import Phase

from grader import checks, curriculum, reference, stubs, together
from grader.checks import Check
from grader.checks.cases import Numbers
from grader.diagnosis import Diagnostician
from grader.explanation import explain
from grader.rehearsal import Case, Rehearsal, Repertoire
from grader.results import CheckResult, ExerciseResult, Status, SubmissionResult, Together
from grader.rules import rule
from grader.sandbox.host import Child, Host
from grader.sandbox.proxy import Student
from grader.sandbox.session import (
    Diverged,
    ForbiddenUse,
    Live,
    Lost,
    Replay,
    StudentError,
)
from grader.submission import Submission

EXERCISE_SECONDS = 20.0
MAX_LOSSES = 2
MAX_REMEMBERED = 1000
SHRINK_SECONDS = 0.2
TAMPERED = "Your code interferes with how it is graded: a call that is ruled out was carried out."


class Judge:
    """Grades submissions on a set of exercises, all on the same cases."""

    def __init__(self, exercises: Sequence[str], repertoire: Repertoire, host: Host) -> None:
        self.exercises = tuple(exercises)
        self.repertoire = repertoire
        self.host = host
        self.diagnosticians: dict[str, Diagnostician] = {}
        self.graded: dict[tuple[str, str], ExerciseResult] = {}

    def grade(self, submission: Submission) -> SubmissionResult:
        """Grades every exercise of the submission. Raises `HostError` if the sandbox fails."""
        results = tuple(self.exercise(name, submission) for name in self.exercises)
        return SubmissionResult(
            submission=submission.name,
            points=sum(result.points or 0.0 for result in results),
            max_points=sum(result.max_points for result in results),
            exercises=results,
            together=self._together(submission),
        )

    def exercise(self, name: str, submission: Submission) -> ExerciseResult:
        """Grades one exercise; the same sources are graded once."""
        if name in submission.problems:
            return unchecked(name, "error", submission.problems[name])
        if name not in submission.sources:
            return unchecked(name, "missing", f"There is no file {name}.py.")
        if stubs.is_untouched(submission.sources[name]):
            return unchecked(name, "todo", "Not started: the file is as it was handed out.")
        key = (name, submission.digest)
        if key not in self.graded:
            if len(self.graded) >= MAX_REMEMBERED:
                self.graded.clear()
            self.graded[key] = self._exercise(name, submission)
        return self.graded[key]

    def _together(self, submission: Submission) -> Together | None:
        """What becomes of the student's own pieces in one model, if their model is graded."""
        own = {
            name: source
            for name, source in submission.sources.items()
            if not stubs.is_untouched(source)
        }
        if "transformer" not in self.exercises or "transformer" not in own:
            return None
        return together.run(own, self.host)

    def _exercise(self, name: str, submission: Submission) -> ExerciseResult:
        run = ExerciseRun(name, submission.sources, self.host)
        try:
            results = [run.check(rehearsal) for rehearsal in self.repertoire.of(name)]
        finally:
            run.close()
        found = summary(name, results, run.verdict)
        if found.status == "passed" or run.verdict is not None:
            return found
        return replace(found, diagnoses=self._diagnostician(name).diagnose(run.replies))

    def _diagnostician(self, name: str) -> Diagnostician:
        if name not in self.diagnosticians:
            self.diagnosticians[name] = Diagnostician(name, self.repertoire.of(name))
        return self.diagnosticians[name]


class NotImportableError(Exception):
    """The student's module raises while it is imported; the text says how."""


class ExerciseRun:
    """One exercise of one submission: the child that holds its code, and what became of it."""

    def __init__(self, name: str, sources: Mapping[str, str], host: Host) -> None:
        self.name = name
        self.sources = sources
        self.host = host
        self.child: Child | None = None
        self.replies: dict[str, list[Any]] = {}
        self.deadline = time.monotonic() + EXERCISE_SECONDS
        self.losses = 0
        self.shrunk = False
        self.verdict: tuple[Status, str] | None = None

    def check(self, rehearsal: Rehearsal) -> CheckResult:
        """Runs one check. Whatever the student's code does becomes its result."""
        check = rehearsal.check
        if self.verdict is not None:
            return _result(check, "not_run", "")
        if self.losses >= MAX_LOSSES or time.monotonic() > self.deadline:
            return _result(check, "not_run", "Not run, since your code hung or died before.")
        try:
            failure = self._failure(rehearsal, self._loaded())
        except Lost as lost:
            self.lose()
            return _result(check, lost.status, lost.message)
        except ForbiddenUse as use:
            message = rule(self.name).message(use.names)
            self.verdict = ("failed", message)
            return _result(check, "failed", message)
        except NotImportableError as error:
            self.verdict = ("error", str(error))
            return _result(check, "not_run", "")
        if failure is None:
            return _result(check, "passed", "")
        return _result(check, _status_of(failure), explain(failure, self.sources))

    def _loaded(self) -> Child:
        """The child with the student's module in it. Raises `NotImportableError`."""
        if self.child is None:
            self.child = self.host.fork()
            try:
                self.child.load(
                    {
                        "exercise": self.name,
                        "sources": dict(self.sources),
                        "references": reference.compiled(curriculum.closure(self.name)),
                        "rule": rule(self.name).data(),
                    }
                )
            except StudentError as error:
                raise NotImportableError(explain(error, self.sources)) from None
            self._probe(self.child)
        return self.child

    def _probe(self, child: Child) -> None:
        """Makes a forbidden call in the child. Raises `Lost` if it is not refused there."""
        probe = rule(self.name).probe
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
        replies = list(child.exchange(rehearsal.frame, rehearsal.count))
        self.replies[rehearsal.check.name] = replies
        position = 0
        for case in rehearsal.cases:
            answers = replies[position : position + len(case.requests)]
            position += len(case.requests)
            failure = self._attempt(rehearsal, case, answers, child)
            if failure is not None:
                return self._smallest(rehearsal, child) or failure
        return None

    def _attempt(
        self, rehearsal: Rehearsal, case: Case, answers: list[Any], child: Child
    ) -> Exception | None:
        body = rehearsal.check.body
        try:
            try:
                body(Student(Replay(case.requests, answers), rehearsal.seed), **case.arguments)
            except Diverged:
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
        self.close()

    def close(self) -> None:
        """Kills the child, if there is one."""
        if self.child is not None:
            self.child.close()
            self.child = None


def summary(
    name: str, results: Sequence[CheckResult], verdict: tuple[Status, str] | None
) -> ExerciseResult:
    """The exercise's result from those of its checks. A `verdict` on the whole costs all points."""
    max_points = curriculum.find(name).points
    if verdict is not None:
        status, message = verdict
        lost = tuple(replace(result, points=0.0) for result in results)
        return ExerciseResult(name, status, 0.0, max_points, message, lost)
    points = sum(result.points for result in results)
    return ExerciseResult(name, _status(results), points, max_points, "", tuple(results))


def _status_of(failure: Exception) -> Status:
    if not isinstance(failure, StudentError):
        return "failed"
    return "todo" if "NotImplementedError" in failure.kinds else "error"


def _status(results: Sequence[CheckResult]) -> Status:
    counted = {result.status for result in results if result.max_points} - {"not_run"}
    if counted <= {"passed"}:
        return "passed"
    if len(counted) == 1:
        return counted.pop()
    return "failed"


def unchecked(name: str, status: Status, message: str) -> ExerciseResult:
    """The result of an exercise that no check could be run on: no points."""
    results = tuple(_result(check, "not_run", "") for check in checks.load(name))
    return ExerciseResult(name, status, 0.0, curriculum.find(name).points, message, results)


def _result(check: Check, status: Status, message: str) -> CheckResult:
    points = check.points if status == "passed" else 0.0
    return CheckResult(check.name, check.title, status, points, check.points, message)
