"""One run of `grader grade`: what is left to grade, what is kept, and the report at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.feedback.finding import Status
from grader.judging import workers
from grader.judging.places import located
from grader.judging.workers import Plan, Recruit
from grader.report import results
from grader.report.results import Report, SubmissionResult
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
    """Grades what the store does not hold yet, and keeps each result in it as it comes.

    `track` passes the results on and shows how far they are; `recruit` finds who grades, where not
    processes of this machine; `worth` are the points of exercises where they are not the
    curriculum's. Raises `StoreError`.
    """
    digests = {one.name: one.digest for one in submissions}
    kept = store.results() if store else {}
    done = {name: kept[name, digest] for name, digest in digests.items() if (name, digest) in kept}
    waiting = [one for one in submissions if one.name not in done]
    labels = {one.name: one.labels for one in submissions}
    for found in track(workers.grade(waiting, plan, recruit), len(waiting)):
        own = labels[found.submission]
        result = weighed(located(found, own) if own else found, worth or {})
        if store is not None and not _failed(result):
            store.add(digests[result.submission], result)
        done[result.submission] = result
    return Report(plan.seed, plan.isolation, tuple(done[one.name] for one in submissions))


def weighed(result: SubmissionResult, worth: Mapping[str, float]) -> SubmissionResult:
    """The result where exercises are worth so many points."""
    exercises = tuple(
        results.weighed(one, worth.get(one.exercise, one.max_points)) for one in result.exercises
    )
    return replace(
        result,
        exercises=exercises,
        points=None if result.points is None else sum(one.points or 0.0 for one in exercises),
        max_points=sum(one.max_points for one in exercises),
    )


def store_path(file: Path) -> Path:
    """Where the results of an unfinished run are, whose report is to be `file`."""
    return file.with_name(file.name + ".partial")


def open_store(file: Path, plan: Plan, resume: bool) -> tuple[Store, Plan]:
    """The store that belongs to the report `file`, and the plan with the seed to go on with.

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
    """Whether the grader could grade everything."""
    return not any(map(_failed, report.submissions))


def _failed(result: SubmissionResult) -> bool:
    return any(exercise.status is Status.GRADER_ERROR for exercise in result.exercises)
