"""Prints what a Dask cluster costs: `python -m tests.tools.benchmark_cluster [--submissions N]`.

A class of right answers, the core eight, is graded by two processes and by two workers of a cluster
on this machine, in turn. Then a scheduler is asked how many submissions a second it can hand out at
most, when grading them takes no time. From both come the times for large classes, and what sets
their pace: a machine that others use tells more by its CPU time, and that is what counts.

    python -m tests.tools.benchmark_cluster --lose [--submissions N]

grades a class of right and wrong answers here and on a cluster of which a worker and the scheduler
are killed on the way, and says whether the results are equal.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from grader import curriculum
from grader.curriculum import mistakes
from grader.curriculum.project import SOLUTIONS
from grader.feedback.results import SubmissionResult
from grader.grading import cluster, workers
from grader.sandbox import jail
from grader.submission import Submission
from tests.grading.test_cluster import Cluster
from tests.tools import costs
from tests.tools.costs import Cost

CORE = tuple(exercise.name for exercise in curriculum.EXERCISES if exercise.core)
CHEAP = ("masks", "attention", "layer_norm")
ISOLATION = "process" if jail.missing() else "jail"
JOBS, FEW = 2, 2
CLASSES, CLUSTERS = (10_000, 100_000), (8, 64)


def right(name: str, number: int) -> str:
    text = (SOLUTIONS / f"{name}.py").read_text(encoding="utf-8")
    return f"{text.replace('from solutions.', 'from exercises.')}\n# {number}\n"


def a_class(count: int) -> list[Submission]:
    return [
        Submission(str(number), {name: right(name, number) for name in CORE})
        for number in range(count)
    ]


def a_mixed_class(count: int) -> list[Submission]:
    """Half of them has something wrong, one in twenty ends its process."""
    library = [
        mistake for name in CHEAP for mistake in mistakes.load(name) if not mistake.edits[0].form
    ]
    handed_in = []
    for number in range(count):
        sources = {name: right(name, number) for name in CHEAP}
        if number % 20 == 7:
            sources["attention"] += "import os\nos._exit(0)\n"
        elif number % 2:
            wrong = library[number // 2 % len(library)]
            sources[wrong.exercise] = wrong.apply(sources[wrong.exercise])
        handed_in.append(Submission(f"student {number}", sources))
    return handed_in


def write(submissions: list[Submission], folder: Path) -> Path:
    for result in submissions:
        (folder / result.name).mkdir(parents=True)
        for name, text in result.sources.items():
            (folder / result.name / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def cost_of(small: Path, large: Path, further: int, *options: str) -> tuple[Cost, Cost]:
    """What a class of a few costs, and each further submission."""
    command = ["-m", "grader", "grade", "--seed", "7", "--isolation", ISOLATION, *options]
    start = costs.of_command([*command, small], small.parent)
    return start, (costs.of_command([*command, large], small.parent) - start) / further


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


def handed_out(plan: workers.Plan, answer: SubmissionResult, handed_in: list[Submission]) -> Cost:
    """What it costs this process to hand out a submission and to take its result back.

    The scheduler and the workers, which here do nothing, are in the time on the wall.
    """
    work = {item.name: item for item in handed_in}
    with grading_takes_no_time(), cluster.Workforce(plan, JOBS, (), cluster.LOCAL) as workforce:
        workforce.recordings = answer  # type: ignore[assignment]
        wall, processor = time.perf_counter(), time.process_time()
        assert sum(1 for _ in workforce.results(work)) == len(work)
        spent = Cost(time.perf_counter() - wall, time.process_time() - processor)
    return spent / len(work)


def table(count: int) -> None:
    with tempfile.TemporaryDirectory() as path:
        small = write(a_class(FEW), Path(path) / "few")
        large = write(a_class(FEW + count), Path(path) / "many")
        ways = {"--jobs 2": ("--jobs", str(JOBS)), "--on dask:local": ("--on", "dask:local")}
        results: dict[str, list[tuple[Cost, Cost]]] = {way: [] for way in ways}
        for way in ("--jobs 2", "--on dask:local") * 2:
            start, each = cost_of(small, large, count, *ways[way])
            results[way].append((start, each))
            print(f"{way:<16}a class of {FEW}  {start}", flush=True)
            print(f"{way:<16}each further{each}", flush=True)
    here, there = (sum((each for _, each in results[way]), Cost(0, 0)) / 2 for way in ways)
    wall, processor = there.wall / here.wall, there.processor / here.processor
    print(f"a cluster's submission costs {wall:.2f} times as much on the wall, ", end="")
    print(f"{processor:.2f} times in CPU time")
    start = sum((begun for begun, _ in results["--on dask:local"]), Cost(0, 0)) / 2
    plan = workers.Plan(CORE, 7, ISOLATION, JOBS)
    recordings = workers.record_checks(plan, CORE)
    (result,) = workers.grade(a_class(1), plan)
    handed_in = a_class(1000)
    spent = handed_out(plan, result, handed_in)
    sizes = [len(pickle.dumps(item)) / 1e3 for item in (recordings, handed_in[0], result)]
    print(f"sent to each worker once: {sizes[0] / 1e3:.1f} MB of cases")
    print(f"a submission: {sizes[1]:.0f} kB out, {sizes[2]:.0f} kB back;{spent} to hand it out")
    for size in CLASSES:
        for machines in CLUSTERS:
            # Of the scheduler and this process, the slower sets the pace; both are in the wall.
            graded, spread = there.processor / machines, spent.wall
            limit = "the workers" if graded > spread else "the scheduler"
            seconds = start.processor + size * max(graded, spread)
            print(f"{size} on {machines} workers: {seconds / 60:.0f} min; {limit} set the pace")


def lose(count: int) -> None:
    handed_in = a_mixed_class(count)
    plan = workers.Plan(CHEAP, 7, ISOLATION, JOBS)
    alone = {graded.submission: graded for graded in workers.grade(handed_in, plan)}
    points = sorted({item.points or 0.0 for item in alone.values()})
    print(f"{len(alone)} graded here: {', '.join(map('{:g}'.format, points))} points", flush=True)
    spread = {}
    with ExitStack() as stack:
        started = Cluster(stack)
        scheduler, worker = started.scheduler(), started.worker()
        started.worker()
        recruit = cluster.recruit(f"dask:{started.address}")
        for number, result in enumerate(workers.grade(handed_in, plan, recruit)):
            spread[result.submission] = result
            if number == count // 4:
                worker.kill()
                print(f"after {number} a worker is killed", flush=True)
            if number == count // 2:
                scheduler.kill()
                scheduler.wait()
                print(f"after {number} the scheduler is killed, and started anew", flush=True)
                started.scheduler()
                started.worker()
    # As text: a number that is none (NaN) does not equal itself.
    differ = sorted(name for name, one in alone.items() if repr(spread.get(name)) != repr(one))
    print(f"{len(spread)} graded there; {len(differ)} differ: {', '.join(differ) or 'none'}")
    raise SystemExit(bool(differ))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--lose", action="store_true")
    options = parser.parse_args()
    (lose if options.lose else table)(options.submissions)


if __name__ == "__main__":
    main()
