"""One run of `grader grade`: what is still to be graded, what is stored, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.feedback import results
from grader.feedback.finding import Status
from grader.feedback.results import Report, SubmissionResult
from grader.grading import workers
from grader.grading.places import located
from grader.grading.workers import Plan, Recruit
from grader.report.store import Store, StoreError
from grader.submission import Submission

Track = Callable[[Iterable[SubmissionResult], int], Iterator[SubmissionResult]]


def run(
    submissions: Sequence[Submission],
    plan: Plan,
    track: Track,
    store: Store | None = None,
    recruit: Recruit | None = None,
    worth: Mapping[str, float] | None = None,
) -> Report:
    """Grade what the store does not hold yet, and keep each result in it as it comes.

    `track` passes the results on and shows how far they are; `recruit` finds who grades, where not
    processes of this machine; `worth` are the points of exercises where they are not the
    curriculum's. Raises `StoreError`.
    """
    digests = {submission.name: submission.digest for submission in submissions}
    kept = store.results() if store else {}
    done = {name: kept[name, digest] for name, digest in digests.items() if (name, digest) in kept}
    waiting = [submission for submission in submissions if submission.name not in done]
    by_name = {submission.name: submission for submission in submissions}
    for graded in track(workers.grade(waiting, plan, recruit), len(waiting)):
        submission = by_name[graded.submission]
        own = submission.labels
        result = weighed(located(graded, own) if own else graded, worth or {})
        result = _with_guesses(result, submission.guessed)
        if store is not None and not _failed(result):
            store.add(digests[result.submission], result)
        done[result.submission] = result
    passed_over = [
        replace(passed, submission=submission.name)
        for submission in submissions
        for passed in submission.passed_over
    ]
    return Report(
        plan.seed,
        plan.isolation,
        tuple(done[submission.name] for submission in submissions),
        passed_over=tuple(passed_over),
    )


def _with_guesses(result: SubmissionResult, guessed: Mapping[str, str]) -> SubmissionResult:
    """Return the result with a remark on each exercise read from a file of another name."""
    exercises = tuple(
        replace(
            exercise,
            remarks=(
                f"{guessed[exercise.exercise]} was graded as {exercise.exercise}.py "
                "(--guess-names).",
                *exercise.remarks,
            ),
        )
        if exercise.exercise in guessed
        else exercise
        for exercise in result.exercises
    )
    return replace(result, exercises=exercises)


def weighed(result: SubmissionResult, worth: Mapping[str, float]) -> SubmissionResult:
    """Return the result with these points for the exercises."""
    exercises = tuple(
        results.weighed(exercise, worth.get(exercise.exercise, exercise.max_points))
        for exercise in result.exercises
    )
    return replace(
        result,
        exercises=exercises,
        points=None
        if result.points is None
        else sum(exercise.points or 0.0 for exercise in exercises),
        max_points=sum(exercise.max_points for exercise in exercises),
    )


def store_path(file: Path) -> Path:
    """Return the path of the stored results of an unfinished run with the report `file`."""
    return file.with_name(file.name + ".partial")


def open_store(file: Path, plan: Plan, resume: bool) -> tuple[Store, Plan]:
    """Return the store of the report `file`, and the plan with the seed to continue with.

    Raises `StoreError` if there is an unfinished run and `resume` is not wanted, or if that run was
    another one.
    """
    path = store_path(file)
    same: dict[str, Any] = {"exercises": list(plan.exercises), "isolation": plan.isolation}
    store = Store(path, {**same, "seed": plan.seed}, resume)
    if {name: store.plan.get(name) for name in same} != same:
        store.close()
        raise StoreError(
            f"{path} holds a run of other exercises, or at another level of isolation. Give the "
            "same options as then, or delete the file."
        )
    return store, replace(plan, seed=int(str(store.plan["seed"])))


def complete(report: Report) -> bool:
    """Return whether the grader could grade everything."""
    return not any(map(_failed, report.submissions))


def _failed(result: SubmissionResult) -> bool:
    return any(exercise.status is Status.GRADER_ERROR for exercise in result.exercises)
