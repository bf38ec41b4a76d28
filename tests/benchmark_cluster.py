"""Prints what a Dask cluster costs: `python tests/benchmark_cluster.py [--submissions N]`.

A class of right answers, the core eight, is graded by two processes and by two workers of a cluster
on this machine, in turn. Then a scheduler is asked how many submissions a second it can hand out at
most, when grading them takes no time. From both come the times for large classes.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager

from grader import curriculum
from grader.curriculum import stubs
from grader.judging import cluster, workers
from grader.report.results import SubmissionResult
from grader.sandbox import jail
from grader.submission import Submission

CORE = tuple(exercise.name for exercise in curriculum.EXERCISES if exercise.core)
JOBS = 2
CLASSES, CLUSTERS = (10_000, 100_000), (8, 64)


def a_class(count: int) -> list[Submission]:
    texts = {
        name: (stubs.SOLUTIONS / f"{name}.py")
        .read_text(encoding="utf-8")
        .replace("from solutions.", "from exercises.")
        for name in CORE
    }
    return [
        Submission(str(number), {name: f"{text}\n# {number}\n" for name, text in texts.items()})
        for number in range(count)
    ]


def timed(results: Iterator[SubmissionResult]) -> tuple[float, float, SubmissionResult]:
    """Seconds until the first result, seconds for each further one, and a result."""
    started = time.perf_counter()
    result = next(results)
    first = time.perf_counter()
    further = sum(1 for _ in results)
    return first - started, (time.perf_counter() - first) / further, result


def at_once(
    plan: workers.Plan,  # noqa: ARG001 - as `grade_one` has it
    answer: SubmissionResult,
    submission: Submission,  # noqa: ARG001
) -> SubmissionResult:
    return answer


@contextmanager
def grading_takes_no_time() -> Iterator[None]:
    own = cluster.grade_one
    cluster.grade_one = at_once  # type: ignore[assignment]
    yield
    cluster.grade_one = own


def handed_out(plan: workers.Plan, answer: SubmissionResult, count: int) -> float:
    """How many submissions a second the scheduler and this process can hand out and take back."""
    handed_in = {str(number): one for number, one in enumerate(a_class(count))}
    with grading_takes_no_time(), cluster.Workforce(plan, JOBS, (), cluster.LOCAL) as workforce:
        workforce.recordings = answer  # type: ignore[assignment]
        started = time.perf_counter()
        assert sum(1 for _ in workforce.results(handed_in)) == count
        return count / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=200)
    count = parser.parse_args().submissions
    plan = workers.Plan(CORE, 7, "process" if jail.missing() else "jail", JOBS)
    handed_in = a_class(count)
    here = [timed(workers.grade(handed_in, plan))]
    start, cost, result = timed(workers.grade(handed_in, plan, cluster.recruit("dask:local")))
    here.append(timed(workers.grade(handed_in, plan)))
    own_start = sum(first for first, _, _ in here) / len(here)
    own_cost = sum(further for _, further, _ in here) / len(here)
    print(f"{JOBS} processes: first result after {own_start:.1f} s, each further {own_cost:.3f} s")
    print(f"{JOBS} workers of a cluster here: {start:.1f} s, {cost:.3f} s")
    recordings = workers.record_checks(plan, CORE)
    print(f"sent to each worker once: {len(pickle.dumps(recordings)) / 1e6:.1f} MB of cases")
    sent, back = len(pickle.dumps(handed_in[0])), len(pickle.dumps(result))
    rate = handed_out(plan, result, max(count, 1000))
    print(f"a submission: {sent / 1e3:.0f} kB out, {back / 1e3:.0f} kB back, at most {rate:.0f}/s")
    for size in CLASSES:
        for machines in CLUSTERS:
            graded, spread = cost * JOBS / machines, 1 / rate
            limit = "the workers" if graded > spread else "the scheduler"
            seconds = start + size * max(graded, spread)
            print(f"{size} on {machines} workers: {seconds / 60:.0f} min; {limit} set the pace")


if __name__ == "__main__":
    main()
