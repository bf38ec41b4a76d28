"""Runs the hidden checks on one student's work and returns what they found; it prints nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from grader import curriculum
from grader.checks import framework
from grader.curriculum import stubs
from grader.curriculum.rules import rule
from grader.feedback.finding import Finding, Status
from grader.judging import cell_report, integration
from grader.judging.diagnosis import Diagnosed, Diagnostician
from grader.judging.exercise_run import Doubt, ExerciseRun, RightReplies, check_result
from grader.judging.own_words import in_own_words
from grader.judging.question import Outcome
from grader.judging.recording import Recordings
from grader.judging.search import Search
from grader.judging.student_process import StudentProcess
from grader.judging.suspicion import suspects
from grader.remote.budget import Budget
from grader.remote.channel import Times
from grader.remote.session import clean
from grader.report.results import (
    CheckResult,
    ExerciseResult,
    Integration,
    SubmissionResult,
    SuspectLine,
)
from grader.sandbox.host import Host
from grader.submission import Submission
from grader.submission.notebook import Layout
from grader.submission.structure import structure

SUBMISSION_SECONDS, SUBMISSION_IDLE = 120.0, 20.0
MAX_DIAGNOSED = 10_000
_NO_WORDS = "The grader failed while it looked for the cause; the points stand"
# Where the student's code came back, with whatever.
_ANSWERED = {Status.PASSED, Status.FAILED, Status.ERROR, Status.TODO}


class Judge:
    """Grades submissions on a set of exercises, all on the same cases."""

    def __init__(
        self,
        exercises: Iterable[str],
        recordings: Recordings,
        host: Host,
        times: Times | None = None,
        shrink: bool = True,
        searches: bool = False,
    ) -> None:
        """With `searches` the wrong line is looked for where no known mistake fits."""
        # In the curriculum's order, in which no reference comes before the student's own answer:
        # what one exercise needs stays in the process that the next one is loaded into.
        self.exercises = tuple(sorted(exercises, key=curriculum.NAMES.index))
        self.recordings = recordings
        self.host = host
        self.times = times
        self.searches = searches
        self.diagnosticians: dict[str, Diagnostician] = {}
        self.diagnosed: dict[Hashable, Diagnosed] = {}
        self.right = RightReplies()
        self.shrink = shrink

    def _run(
        self, name: str, process: StudentProcess, before: ExerciseRun | None = None
    ) -> ExerciseRun:
        """A run of an exercise alone, which goes on where one in company ended in doubt."""
        passed = before.passed if before else None
        return ExerciseRun(name, process, self.right, shrink=self.shrink, passed=passed)

    def _in_company(self, name: str, process: StudentProcess) -> ExerciseRun:
        """A run in a process in which code of other exercises has run, or may."""
        return ExerciseRun(name, process, self.right, alone=False)

    def prepare(self) -> None:
        """Makes now what the first submission would wait for."""
        for name in self.exercises:
            self.recordings.of(name)
            self._diagnostician(name)

    def grade(self, submission: Submission) -> SubmissionResult:
        """Grades every exercise of the submission. Raises `HostError` if the sandbox fails."""
        budget = Budget("The whole submission", SUBMISSION_SECONDS, SUBMISSION_IDLE)
        company = [name for name in self.exercises if not rule(name).apart]
        with self._process(submission, company, budget) as process:
            order = submission.layout.order(self.exercises) if submission.layout else self.exercises
            found = {
                name: replace(
                    self._exercise(name, submission, process),
                    structure=structure(name, submission.sources.get(name, "")),
                )
                for name in order
            }
            results = tuple(found[name] for name in self.exercises)
            integrated = self._integration(submission, process)
        return SubmissionResult(
            submission=submission.name,
            points=sum(result.points or 0.0 for result in results),
            max_points=sum(result.max_points for result in results),
            exercises=results,
            integration=integrated,
        )

    def _process(
        self,
        submission: Submission,
        rules: Iterable[str],
        budget: Budget,
        past_errors: bool = False,
    ) -> StudentProcess:
        """A process for the submission, with these exercises' rules. No code is in it yet."""
        if submission.layout is None:
            return StudentProcess(submission.sources, rules, self.host, budget, self.times)
        texts = submission.layout.texts()
        notebook = {**submission.layout.payload(), "past_errors": past_errors}
        return StudentProcess(texts, rules, self.host, budget, self.times, notebook)

    def _exercise(
        self, name: str, submission: Submission, process: StudentProcess
    ) -> ExerciseResult:
        if name in submission.problems:
            return unchecked(name, Status.ERROR, submission.problems[name])
        if name not in submission.sources:
            return unchecked(name, Status.MISSING, f"There is no file {name}.py.")
        if stubs.is_untouched(submission.sources[name]):
            return unchecked(name, Status.TODO, "Not started: the file is as it was handed out.")
        if submission.layout:
            return self._in_notebook(name, submission, submission.layout, process)
        before = None
        if name in process.rules:
            if process.holds_code:
                before = self._in_company(name, process)
                with contextlib.suppress(Doubt):
                    return self._found(before)
                process.leave()
            before = self._run(name, process, before)
            with contextlib.suppress(Doubt):
                found = self._found(before)
                if before.verdict is not None:
                    process.leave()
                return found
            process.leave()
        with self._process(submission, [name], process.budget) as own:
            return self._found(self._run(name, own, before))

    def _in_notebook(
        self, name: str, submission: Submission, layout: Layout, process: StudentProcess
    ) -> ExerciseResult:
        """An exercise of a notebook, whose cells run once for all that is right.

        What is not is examined where they run again, with no rule but its own, and nothing before
        its tests but the cells.
        """
        if name in process.given:
            process.leave()  # its reference has come into the process
        before = None
        if name in process.rules:
            before = self._in_company(name, process)
            with contextlib.suppress(Doubt):
                found = self._found(before)
                found = _remarked(found, process, layout)
                return _with(found, cell_report.report(name, process.cells, layout, passed=True))
        with self._process(submission, [name], process.budget) as own:
            found = self._found(self._run(name, own, before))
            told, found = own.cells, _remarked(found, own, layout)
        passed = found.status is Status.PASSED
        found = _with(found, cell_report.report(name, told, layout, passed))
        if passed or not cell_report.stopped(name, told, layout):
            return found
        with self._process(submission, [name], process.budget, past_errors=True) as beyond:
            without = self._found(self._run(name, beyond), searches=False)
        return _with(found, cell_report.without(found, without))

    def _integration(self, submission: Submission, process: StudentProcess) -> Integration | None:
        """What becomes of the student's own pieces in one model, if their model is graded."""
        own = {
            name: source
            for name, source in submission.sources.items()
            if not stubs.is_untouched(source)
        }
        if "transformer" not in self.exercises or "transformer" not in own:
            return None
        if process.holds_code:
            found = integration.run(own, process)
            if found.status is Status.PASSED:
                return found
        with self._process(replace(submission, sources=own), (), process.budget) as free:
            return integration.run(own, free)

    def _found(self, examination: ExerciseRun, searches: bool = True) -> ExerciseResult:
        name = examination.exercise
        results = [examination.check(recording) for recording in self.recordings.of(name)]
        remarks = tuple(examination.process.remarks.get(name, ()))
        found = replace(summary(name, results, examination.verdict), remarks=remarks)
        if found.status is Status.PASSED or examination.verdict is not None:
            return found
        try:
            return self._explained(found, examination, searches and self.searches)
        except Exception as error:  # words only: the points were found before
            failed = f"{_NO_WORDS} ({type(error).__name__}: {clean(str(error))})."
            return replace(found, remarks=(*remarks, failed))

    def _explained(
        self, found: ExerciseResult, examination: ExerciseRun, searches: bool
    ) -> ExerciseResult:
        """The result with the mistakes that explain what is wrong, and the lines to look at."""
        name, results = found.exercise, found.checks
        passed = {
            result.check: result.status is Status.PASSED
            for result in results
            if result.status in _ANSWERED
        }
        diagnostician, source = self._diagnostician(name), examination.process.sources.get(name, "")
        diagnosed = self._diagnosed(examination, passed)
        diagnoses = (
            in_own_words(one, diagnostician.library, results, source) for one in diagnosed.mistakes
        )
        found = replace(found, diagnoses=tuple(diagnoses))
        if not searches:
            return found
        return replace(found, lines=self._lines(found, diagnosed.unexplained, examination.process))

    def _lines(
        self, found: ExerciseResult, unexplained: Sequence[str], process: StudentProcess
    ) -> tuple[SuspectLine, ...]:
        """The lines to look at for checks that no known mistake explains."""
        wrong = {
            one.check
            for one in found.checks
            if one.max_points and one.status in (Status.FAILED, Status.ERROR)
        }
        right = {one.check for one in found.checks if one.status is Status.PASSED}
        recordings = self.recordings.of(found.exercise)
        failing = [one for one in recordings if one.check.name in wrong.intersection(unexplained)]
        if not failing:
            return ()
        passing = [one for one in recordings if one.check.name in right]
        mend = Search(found.exercise, process, self.right).mend(failing, passing)
        return suspects(mend, found, process.sources) if mend else ()

    def _diagnosed(self, examination: ExerciseRun, passed: Mapping[str, bool]) -> Diagnosed:
        """What mistakes explain; those of equal replies to the same checks are looked for once."""
        diagnostician = self._diagnostician(examination.exercise)
        replies = {
            name: examination.refused.get(name) for name, state in passed.items() if not state
        }
        recordings = {one.check.name: one for one in self.recordings.of(examination.exercise)}

        @cache
        def graded(check: str) -> Outcome | None:
            return examination.outcome(recordings[check])

        if None in replies.values():
            return diagnostician.diagnose(passed, examination.ask, graded)
        key = (examination.exercise, *passed.items(), *replies.items())
        if key not in self.diagnosed:
            if len(self.diagnosed) >= MAX_DIAGNOSED:
                self.diagnosed.clear()
            self.diagnosed[key] = diagnostician.diagnose(passed, examination.ask, graded)
        return self.diagnosed[key]

    def _diagnostician(self, name: str) -> Diagnostician:
        if name not in self.diagnosticians:
            self.diagnosticians[name] = Diagnostician(name)
        return self.diagnosticians[name]


def _remarked(found: ExerciseResult, process: StudentProcess, layout: Layout) -> ExerciseResult:
    """The result with the remarks on the cells of the exercise."""
    remarks = [process.remarks.get(f"cell_{cell}", ()) for cell in layout.own[found.exercise]]
    return replace(found, remarks=tuple(one for listed in remarks for one in listed))


def _with(found: ExerciseResult, more: Finding | None) -> ExerciseResult:
    """The result with something more that concerns all of the exercise."""
    if more is None or found.finding is None:
        return replace(found, finding=more or found.finding)
    help = "\n".join(filter(None, (found.finding.help, more.headline, more.help)))
    places = (*found.finding.places, *more.places)
    return replace(found, finding=replace(found.finding, help=help, places=places))


def summary(
    name: str, results: Sequence[CheckResult], verdict: tuple[Status, Finding] | None
) -> ExerciseResult:
    """The exercise's result from those of its checks. A `verdict` on the whole costs all points."""
    max_points = curriculum.find(name).points
    if verdict is not None:
        status, finding = verdict
        lost = tuple(replace(result, points=0.0) for result in results)
        return ExerciseResult(name, status, 0.0, max_points, finding, lost)
    points = sum(result.points for result in results)
    return ExerciseResult(name, _status(results), points, max_points, None, tuple(results))


def _status(results: Sequence[CheckResult]) -> Status:
    counted = {result.status for result in results if result.max_points} - {Status.NOT_RUN}
    if counted <= {Status.PASSED}:
        return Status.PASSED
    if len(counted) == 1:
        return counted.pop()
    return Status.FAILED


def unchecked(name: str, status: Status, message: str) -> ExerciseResult:
    """The result of an exercise that no check could be run on: no points."""
    results = tuple(check_result(check, Status.NOT_RUN) for check in framework.load(name))
    return ExerciseResult(
        name, status, 0.0, curriculum.find(name).points, Finding(message), results
    )
