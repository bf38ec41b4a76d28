"""Grades a class: hands submissions out to workers and collects what they find.

A worker is a process of its own with a judge and a sandbox. This process imports no torch, so that
it starts at once and stays small however large the class is.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from grader import curriculum
from grader.results import ExerciseResult, SubmissionResult
from grader.submission import Submission

ATTEMPTS = 2
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Plan:
    """How to grade: which exercises, on which cases, how far apart from the rest of the machine."""

    exercises: tuple[str, ...]
    seed: int
    isolation: str
    jobs: int


def grade(submissions: Sequence[Submission], plan: Plan) -> Iterator[SubmissionResult]:
    """Yields a result for every submission, in the order in which they are finished.

    Equal submissions are graded once. What the grader itself fails at is tried a second time and
    then yielded with the status `grader_error`.
    """
    groups: dict[str, list[Submission]] = {}
    for submission in submissions:
        groups.setdefault(digest(submission), []).append(submission)
    with _Workforce(plan, min(plan.jobs, len(groups))) as workforce:
        for key, result in workforce.results({key: twins[0] for key, twins in groups.items()}):
            for twin in groups[key]:
                yield replace(result, submission=twin.name)


def digest(submission: Submission) -> str:
    """The same for two submissions that hold the same files."""
    hashed = hashlib.sha256()
    for part in (submission.sources, submission.problems):
        for name, text in sorted(part.items()):
            hashed.update(f"{name}\0{text}\0".encode("utf-8", "surrogatepass"))
        hashed.update(b"\1")
    return hashed.hexdigest()


class _Workforce:
    """Workers, each busy with one submission at a time; one that dies is replaced."""

    def __init__(self, plan: Plan, count: int) -> None:
        self.plan = plan
        self.workers = [_Worker(plan) for _ in range(count)]

    def __enter__(self) -> _Workforce:
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
                found = worker.take()
                if isinstance(found, str):
                    worker = self._replace(worker)
                    if attempt < ATTEMPTS:
                        waiting.appendleft((key, submission, attempt + 1))
                    else:
                        yield key, failed(submission, self.plan.exercises, found)
                else:
                    yield key, found
                idle.append(worker)

    def _replace(self, worker: _Worker) -> _Worker:
        worker.close()
        fresh = _Worker(self.plan)
        self.workers[self.workers.index(worker)] = fresh
        return fresh


class _Worker:
    """A process that grades what it is given."""

    def __init__(self, plan: Plan) -> None:
        self.connection, theirs = _FORK.Pipe()
        self.process = _FORK.Process(target=_work, args=(theirs, self.connection, plan))
        self.process.start()
        theirs.close()

    def give(self, submission: Submission) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.connection.send(submission)

    def take(self) -> SubmissionResult | str:
        """What the worker found, or, in words, why it did not."""
        try:
            found: SubmissionResult | str = self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return f"The worker process ended with exit status {self.process.exitcode}."
        return found

    def close(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


def _work(connection: Connection, parents_end: Connection, plan: Plan) -> None:
    # Held here too, the parent's end would keep this process waiting after the parent's death.
    parents_end.close()
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        judge: Any = None
        while True:
            submission: Submission = connection.recv()
            try:
                judge = judge or _judge(plan)
                connection.send(judge.grade(submission))
            except Exception as error:
                connection.send(f"{type(error).__name__}: {error}")


def _judge(plan: Plan) -> Any:
    # The fork server loads its torch while this process loads its own.
    from grader.sandbox.host import Host

    host = Host(plan.isolation)

    import torch

    from grader.judge import Judge

    # As in the process of the student's code: what both of them compute is compared.
    torch.set_num_threads(1)
    return Judge(plan.exercises, plan.seed, host)


def failed(submission: Submission, exercises: Sequence[str], reason: str) -> SubmissionResult:
    """The result of what the grader itself failed at: no points, which are not zero points."""
    message = f"The grader failed, not this code: {reason} Grade this submission again."
    results = tuple(
        ExerciseResult(name, "grader_error", None, curriculum.find(name).points, message)
        for name in exercises
    )
    total = sum(result.max_points for result in results)
    return SubmissionResult(submission.name, None, total, results)
