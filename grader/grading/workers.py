"""Grades a class: hands submissions out to workers and collects what they find.

This process imports torch and draws the cases, once for the class. A worker is a fork of it, with a
sandbox of its own.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Protocol

from grader import curriculum
from grader.curriculum import stubs
from grader.feedback.finding import Finding, Status
from grader.feedback.results import ExerciseResult, SubmissionResult
from grader.grading.student_process import PROGRAM, WITH_NOTEBOOKS
from grader.sandbox import lockdown
from grader.sandbox.host import Host, HostError
from grader.submission import Submission

if TYPE_CHECKING:
    from grader.grading.judge import Judge
    from grader.grading.recording import Recordings

ATTEMPTS = 2
_OWN_FILES = 64
# Libraries that student code imports though it is graded without them, and that take long.
SLOW_LIBRARIES = ("matplotlib", "pandas", "seaborn", "tqdm")


@dataclass(frozen=True)
class Plan:
    """How to grade: which exercises, on which cases, with which isolation.

    `search` is whether the wrong line is looked for where no known mistake explains what is wrong.
    `program` is what the sandboxes run, and `expected` the libraries that it imports beforehand.
    """

    exercises: tuple[str, ...]
    seed: int
    isolation: str
    jobs: int
    search: bool = True
    program: str = PROGRAM
    expected: tuple[str, ...] = ()


def processors() -> int:
    """Return how many processors this process may use, which is how many workers it is for."""
    # Where it is known, as on Linux: a container or `taskset` may leave fewer than there are.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _room() -> int:
    """Return for how many workers this process may open files: four each, besides its own."""
    limit, _ = lockdown.resource.getrlimit(lockdown.resource.RLIMIT_NOFILE)
    return max((limit - _OWN_FILES) // 4, 1) if limit >= 0 else sys.maxsize


class WorkforceError(Exception):
    """No worker is left. The message says why and what to do."""


class Workforce(Protocol):
    """Workers that grade submissions: processes of this machine, or of a cluster."""

    def __enter__(self) -> Workforce: ...

    def __exit__(self, *_: object) -> None: ...

    def results(self, work: dict[str, Submission]) -> Iterator[tuple[str, SubmissionResult]]:
        """Yield the key of each submission with its result, as they are finished.

        Raises `WorkforceError`.
        """


Recruit = Callable[[Plan, int, Iterable[str]], Workforce]


def grade(
    submissions: Sequence[Submission], plan: Plan, recruit: Recruit | None = None
) -> Iterator[SubmissionResult]:
    """Yield a result for every submission, in the order in which they are finished.

    Equal submissions are graded once. What the grader itself fails at is tried a second time and
    then yielded with the status `grader_error`. Raises `CurriculumError` before the first if an
    exercise of the plan is not complete, `WorkforceError` when there is nobody to grade.
    """
    groups: dict[str, list[Submission]] = {}
    for submission in submissions:
        groups.setdefault(submission.digest, []).append(submission)
    if not groups:
        return
    work = {key: twins[0] for key, twins in groups.items()}
    plan = _fitted(plan, work.values())
    workforce = (recruit or _Processes)(
        plan, min(plan.jobs, len(work), _room()), _begun(plan, work.values())
    )
    with workforce:
        for key, result in workforce.results(work):
            for twin in groups[key]:
                yield replace(result, submission=twin.name)


def _fitted(plan: Plan, submissions: Iterable[Submission]) -> Plan:
    """Return the plan, with sandboxes prepared for the submissions."""
    submissions = tuple(submissions)
    texts = [
        text
        for submission in submissions
        for text in (*submission.sources.values(), *_cells(submission))
    ]
    expected = tuple(name for name in SLOW_LIBRARIES if any(name in text for text in texts))
    if not any(submission.cells for submission in submissions):
        return replace(plan, expected=expected)
    if find_spec("IPython") is None:
        raise WorkforceError(
            "Notebooks are run by IPython, which is not installed. In the kit's folder: "
            "pip install -c constraints.txt -e '.[grader]'"
        )
    return replace(plan, program=WITH_NOTEBOOKS, expected=expected)


def _cells(submission: Submission) -> Iterator[str]:
    return (cell.source for cell in submission.cells)


def _begun(plan: Plan, submissions: Iterable[Submission]) -> list[str]:
    """Return the exercises that somebody has done something about."""
    texts = defaultdict(set)
    for submission in submissions:
        for name, source in submission.sources.items():
            texts[name].add(source)
    return [
        name
        for name in plan.exercises
        if any(not stubs.is_untouched(source) for source in texts[name])
    ]


class _Processes:
    """Workers, each busy with one submission at a time; one that dies is replaced."""

    def __init__(self, plan: Plan, count: int, exercises: Iterable[str]) -> None:
        self.plan = plan
        # The fork server loads its torch while this process loads its own.
        hosts = _hosts(plan, count)
        try:
            self.recordings = record_checks(plan, exercises, shared=count > 1)
        except curriculum.CurriculumError:
            for started in filter(None, hosts):
                started.close()
            raise
        self.workers: list[_Worker] = []
        for number, host in enumerate(hosts, 1):
            try:
                self.workers.append(_Worker(plan, self.recordings, host, hosts[number:]))
            except OSError as error:  # there is no room for more of them
                for left in filter(None, hosts[number - 1 :]):
                    left.close()
                if not self.workers:
                    raise WorkforceError(f"No worker could be started: {error}.") from None
                break

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()

    def results(self, work: dict[str, Submission]) -> Iterator[tuple[str, SubmissionResult]]:
        waiting = deque((key, submission, 1) for key, submission in work.items())
        busy: dict[Connection, tuple[_Worker, tuple[str, Submission, int]]] = {}
        idle = list(self.workers)
        while waiting or busy:
            while waiting and idle:
                worker, task = idle.pop(), waiting.popleft()
                worker.give(task[1])
                busy[worker.connection] = (worker, task)
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                worker, (key, submission, attempt) = busy.pop(connection)
                outcome = worker.take()
                if isinstance(outcome, str):
                    worker = self._replace(worker)
                    if attempt < ATTEMPTS:
                        waiting.appendleft((key, submission, attempt + 1))
                    else:
                        yield key, failed(submission, self.plan.exercises, outcome)
                else:
                    yield key, outcome
                idle.append(worker)

    def _replace(self, worker: _Worker) -> _Worker:
        worker.close()
        (host,) = _hosts(self.plan, 1)
        fresh = _Worker(self.plan, self.recordings, host)
        self.workers[self.workers.index(worker)] = fresh
        return fresh


class _Worker:
    """A process that grades what it is given. `others` are sandboxes that it must not hold open."""

    def __init__(
        self,
        plan: Plan,
        recordings: Recordings,
        host: Host | None,
        others: Sequence[Host | None] = (),
    ) -> None:
        self.host = host
        fork = multiprocessing.get_context("fork")
        self.connection, theirs = fork.Pipe()
        # Held there too, this end would keep the worker waiting after this process's death.
        inherited = (self.connection.close, *(other.let_go for other in others if other))
        self.process = fork.Process(target=_work, args=(theirs, inherited, plan, recordings, host))
        self.process.start()
        theirs.close()
        if host is not None:
            host.let_go()

    def give(self, submission: Submission) -> None:
        with contextlib.suppress(OSError):  # it has ended, which `take` finds out
            self.connection.send(submission)

    def take(self) -> SubmissionResult | str:
        """Return what the worker found, or, in words, why it did not."""
        try:
            outcome: SubmissionResult | str = self.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):  # it may have ended in mid-sentence
            self.process.join()
            return f"The worker process ended with exit status {self.process.exitcode}."
        return outcome

    def close(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()
        if self.host is not None:
            self.host.close()


def _work(
    connection: Connection,
    inherited: Iterable[Callable[[], None]],
    plan: Plan,
    recordings: Recordings,
    host: Host | None,
) -> None:
    for close in inherited:
        close()
    judge: Judge | None = None
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            submission: Submission = connection.recv()
            try:
                judge = judge or _judge(plan, recordings, host)
                connection.send(judge.grade(submission))
            except Exception as error:
                connection.send(f"{type(error).__name__}: {error}")


def _judge(plan: Plan, recordings: Recordings, host: Host | None) -> Judge:
    from grader.grading.judge import Judge

    host = host or Host(plan.program, plan.isolation, expected=plan.expected)
    return Judge(plan.exercises, recordings, host, searches=plan.search)


def _hosts(plan: Plan, count: int) -> Sequence[Host | None]:
    """Return sandboxes, fewer where this machine has no room for so many.

    None in their place where not one can be started: a worker then tries again, and says why.
    """
    while count:
        try:
            return Host.several(count, plan.program, plan.isolation, plan.expected)
        except HostError:
            count //= 2
    return [None]


def record_checks(plan: Plan, exercises: Iterable[str], shared: bool = False) -> Recordings:
    """Return the recorded checks of these exercises, for the workers to inherit.

    With `shared`, they inherit the fingerprints of known mistakes, too.

    Raises `CurriculumError` if the checks of one in the plan are missing or do not add up.
    """
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    gc.disable()  # nearly all that is made here stays

    from grader.checks import framework
    from grader.grading import judge  # noqa: F401 - for the workers to inherit, too
    from grader.grading.diagnosis import fingerprints
    from grader.grading.recording import Recordings

    for name in plan.exercises:
        framework.load(name)
    recordings = Recordings(plan.seed)
    # What fails here fails again in a worker, which tells it of each submission that it concerns.
    for name in exercises:
        with contextlib.suppress(Exception):
            recordings.of(name)
            if shared:
                fingerprints.read_ahead(name)
    gc.collect()
    gc.freeze()
    gc.enable()
    # A model is thousands of objects; at every 700th Python would search all the new ones.
    gc.set_threshold(50_000)
    return recordings


def failed(submission: Submission, exercises: Sequence[str], reason: str) -> SubmissionResult:
    """Return the result for a failure of the grader itself: no points, rather than zero."""
    finding = Finding(f"The grader failed, not this code: {reason} Grade this submission again.")
    results = tuple(
        ExerciseResult(name, Status.GRADER_ERROR, None, curriculum.find(name).points, finding)
        for name in exercises
    )
    total = sum(result.max_points for result in results)
    return SubmissionResult(submission.name, None, total, results)
