"""Grades a class on a Dask cluster (https://distributed.dask.org), not on this machine alone.

The cases are drawn here, once, and sent to each worker once. A worker has a judge, fork server and
a jail of its own. What comes back is plain results; a worker that is lost costs the submission it
was at, which goes to another, and a scheduler that is lost costs what was under way.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import json
import logging
import math
import os
import platform
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader import curriculum
from grader.feedback.finding import Status
from grader.feedback.results import (
    ExerciseResult,
    SubmissionResult,
    kept_result,
    submission_fields,
)
from grader.grading.workers import ATTEMPTS, Plan, WorkforceError, failed, record_checks
from grader.sandbox import jail
from grader.submission import Submission

if TYPE_CHECKING:
    from dask.typing import Key
    from distributed import Client, Future, LocalCluster, Scheduler, as_completed

    from grader.grading.judge import Judge
    from grader.grading.recording import Recordings

PREFIX, LOCAL = "dask:", "local"
CONNECT_SECONDS = 10.0
# How long a scheduler may be away before the run stops; --json keeps what is done.
AWAY_SECONDS = 120.0
# A cluster of which no worker answers for so long hangs: no submission takes that long.
SILENT_SECONDS = 1800.0
LARGEST = 32 << 20  # characters of a result; a class has far less in all
# Submissions sent ahead for each worker, so that none waits for its next one.
AHEAD = 4

_TICK, _LOOK = 0.02, 2.0  # seconds between two looks at what has come, and at the workers
_ROUNDING = 1e-6  # of points


class ClusterError(WorkforceError):
    """The cluster cannot be used. The message says why and what to do."""


class _LostError(Exception):
    """The scheduler has gone, with all that it knew."""


@dataclass(frozen=True)
class Machine:
    """What has to be the same on all machines, or equal code would get unequal grades."""

    python: str
    torch: str
    kit: str
    jail: str

    def differences(self, other: Machine) -> list[str]:
        """Return how the other machine differs from this one, in words."""
        pairs = (
            ("Python", self.python, other.python),
            ("torch", self.torch, other.torch),
            ("this kit in version", self.kit, other.kit),
        )
        return [
            f"it has {name} {theirs}, this machine {own}"
            for name, own, theirs in pairs
            if own != theirs
        ]


@cache
def machine() -> Machine:
    """This machine's versions, and why it has no jail, if it has none."""
    from importlib.metadata import version

    return Machine(
        python=".".join(platform.python_version_tuple()[:2]),
        torch=version("torch").partition("+")[0],
        kit=_kit(),
        jail=" ".join(f"{problem.what} {problem.fix}" for problem in jail.missing()),
    )


def _kit() -> str:
    """Return a short name of what the kit's files hold."""
    root = Path(__file__).parents[2]
    kinds = ("*.py", "*.toml", "*.txt")
    files = [
        file
        for name in ("grader", "solutions")
        for kind in kinds
        for file in (root / name).rglob(kind)
    ]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:8]


def recruit(where: str) -> Callable[[Plan, int, Iterable[str]], Workforce]:
    """Return where `workers.grade` gets its workers: `where` is "dask:ADDRESS" or "dask:local".

    Raises `ClusterError` for anything else, and where Dask is not installed.
    """
    address = where.removeprefix(PREFIX)
    if address == where or not address:
        raise ClusterError(
            f"--on takes dask:ADDRESS, say dask:tcp://192.0.2.7:8786, or dask:local, not {where!r}."
        )
    try:
        import distributed  # noqa: F401 - to say so now and not when the cases are drawn
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"{error.name} is not installed. In the kit's folder: pip install -c constraints.txt "
            "-e '.[grader,cluster]'"
        ) from None
    # `ClusterError` reports a lost scheduler in a sentence, and a result whatever cannot be read;
    # Dask's own log is not needed.
    for name in ("distributed", "distributed.client"):  # which has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return lambda plan, count, exercises: Workforce(plan, count, exercises, address)


class Workforce:
    """The workers of a cluster, which take each a submission at a time."""

    def __init__(self, plan: Plan, count: int, exercises: Iterable[str], address: str) -> None:
        self.plan = plan
        self.stack = contextlib.ExitStack()
        self.address = address
        if address == LOCAL:
            self.address = self.stack.enter_context(_local(count)).scheduler_address
        with self._client(patience=0.0) as client:
            _refuse_others(client, plan)
        self.recordings = record_checks(plan, exercises)

    def __enter__(self) -> Workforce:
        return self

    def __exit__(self, *_: object) -> None:
        """Give back what the workers keep for this run: each a process with torch in it."""
        with self.stack, contextlib.suppress(ClusterError), self._client(patience=0.0) as client:
            client.run(_end_judges, on_error="return")

    def results(self, work: dict[str, Submission]) -> Iterator[tuple[str, SubmissionResult]]:
        """Yield the result of each submission, in the order in which they finish.

        Raises `ClusterError` if the scheduler is lost and does not come back.
        """
        left = dict(work)
        while left:
            with contextlib.suppress(_LostError), self._client() as client:
                _refuse_others(client, self.plan)
                for key, result in _Shift(client, self.plan, self.recordings).results(left):
                    del left[key]
                    yield key, result

    def _client(self, patience: float = AWAY_SECONDS) -> Client:
        """Return a connection to the scheduler, which may be away for so many seconds.

        Raises `ClusterError` if it does not come.
        """
        from distributed import Client

        began = time.monotonic()
        while True:
            try:
                client = Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
            # A configuration of TLS that lacks something raises either of the last two.
            except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
                if time.monotonic() - began >= patience:
                    raise ClusterError(
                        f"No scheduler answers at {self.address} ({_plain(error)}). Start one with "
                        "`dask scheduler`, workers with `dask worker ADDRESS --nthreads 1`, or try "
                        "--on dask:local."
                    ) from None
                time.sleep(1.0)
            else:
                return client


class _Shift:
    """Tasks sent to a scheduler and their results, as long as the scheduler lives."""

    def __init__(self, client: Client, plan: Plan, recordings: Recordings) -> None:
        self.client = client
        self.plan = plan
        try:
            (self.recordings,) = client.scatter([recordings], broadcast=True, hash=False)
        except Exception as error:
            raise _LostError from error

    def results(self, work: dict[str, Submission]) -> Iterator[tuple[str, SubmissionResult]]:
        from distributed import as_completed

        waiting = deque(_Task(key, submission) for key, submission in work.items())
        tasks: dict[Future, _Task] = {}
        finished = as_completed(loop=self.client.loop)
        while waiting or tasks:
            workers = self._workers()  # which asks the scheduler
            while waiting and len(tasks) < AHEAD * max(len(workers), 1):
                task = waiting[0].given_to(workers)
                future = self._send(task)
                tasks[future] = task
                waiting.popleft()
                finished.add(future)
            for future in self._ended(finished, tasks):
                task = tasks.pop(future)
                outcome = sound(_outcome(future), self.plan, task.submission)
                if isinstance(outcome, SubmissionResult):
                    yield task.key, outcome
                elif task.attempt < ATTEMPTS:
                    _refuse_others(self.client, self.plan)
                    waiting.appendleft(task.again(self._where(future)))
                else:
                    yield task.key, failed(task.submission, self.plan.exercises, outcome)
                future.release()

    def _ended(self, finished: as_completed, tasks: Mapping[Future, _Task]) -> list[Future]:
        """Wait for tasks to end and return them; without a result, those that nobody will do.

        Where no task ends for long, these are all of them.
        """
        began = time.monotonic()
        looks = began + _LOOK
        while not finished.has_ready():
            time.sleep(_TICK)
            now = time.monotonic()
            if now < looks:
                continue
            looks = now + _LOOK
            workers = self._workers()
            left = [future for future, task in tasks.items() if not task.can_be_done(workers)]
            if now - began > SILENT_SECONDS:
                self._restart_busy()
                left = list(tasks)
            if left:
                finished.clear()
                finished.update(set(tasks) - set(left))
                return left
        return list(finished.next_batch())

    def _restart_busy(self) -> None:
        """Restart the workers that have a submission and don't answer."""
        try:
            busy = [address for address, keys in self.client.processing().items() if keys]
            try:
                self.client.restart_workers(busy, timeout=CONNECT_SECONDS, raise_for_error=False)
            except ValueError:  # nobody is there to start them again
                self.client.retire_workers(busy, close_workers=True)
        except Exception as error:
            raise _LostError from error

    def _where(self, future: Future) -> frozenset[str]:
        """Return the addresses of the workers that a task ended at, none if they are not known."""
        with contextlib.suppress(Exception):  # a scheduler that is lost is noticed elsewhere
            if future.status == "error":
                return frozenset(self.client.run_on_scheduler(_failed_on, key=future.key))
            return frozenset(*self.client.who_has([future]).values())
        return frozenset()

    def _workers(self) -> set[str]:
        """Return the workers' addresses."""
        known = self.client.scheduler_info(n_workers=-1)
        if "workers" not in known:  # the scheduler went as it was asked
            raise _LostError
        return set(known["workers"])

    def _send(self, task: _Task) -> Future:
        try:
            return self.client.submit(
                grade_one,
                self.plan,
                self.recordings,
                task.submission,
                pure=False,
                retries=0,
                workers=list(task.only) or None,
            )
        except Exception as error:
            raise _LostError from error


@dataclass(frozen=True)
class _Task:
    """A submission to grade. Attempts before this one `failed_at` these workers.

    If there are others, `only` they may do it.
    """

    key: str
    submission: Submission
    attempt: int = 1
    failed_at: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()

    def again(self, failed_at: frozenset[str]) -> _Task:
        """Return the next attempt, now that it failed at these workers, too."""
        return replace(self, attempt=self.attempt + 1, failed_at=self.failed_at | failed_at)

    def given_to(self, workers: set[str]) -> _Task:
        """Return the task as it is given to these workers."""
        return replace(self, only=frozenset(workers - self.failed_at if self.failed_at else ()))

    def can_be_done(self, workers: set[str]) -> bool:
        """Return whether one of these workers may do it."""
        return not self.only or not self.only.isdisjoint(workers)


def _outcome(future: Future) -> object:
    """Return a task's result, or, in words, why there is none. Raises `_LostError`."""
    if future.status in ("cancelled", "lost"):
        raise _LostError
    if future.status == "pending":
        return "No worker of the cluster answered."
    try:
        if future.status != "error":
            return future.result(timeout=SILENT_SECONDS)
        error = future.exception(timeout=SILENT_SECONDS)
    except (asyncio.CancelledError, CancelledError) as lost:
        raise _LostError from lost
    except Exception as unread:  # what comes of reading a reply that cannot be read here
        error = unread
    return f"{type(error).__name__}: {_plain(error)}"


def sound(outcome: object, plan: Plan, submission: Submission) -> SubmissionResult | str:
    """Return a worker's result if it can be one, else in words that it cannot.

    A worker that is broken sends what it likes. One that is hostile is another matter: what Dask
    itself reads from the network may run code, so only TLS keeps those out.
    """
    if isinstance(outcome, str):
        return _plain(outcome)
    try:
        assert isinstance(outcome, SubmissionResult)
        fields = json.dumps(submission_fields(outcome))
        assert len(fields) <= LARGEST
        result = kept_result(fields)
        names = tuple(exercise.exercise for exercise in result.exercises)
        if (
            names == tuple(sorted(plan.exercises, key=curriculum.NAMES.index))
            and result.submission == submission.name
            and all(map(_adds_up, result.exercises))
            and _equal(result.points, (one.points for one in result.exercises))
            and _equal(result.max_points, (one.max_points for one in result.exercises))
        ):
            return result
    except (AssertionError, AttributeError, RecursionError, TypeError, ValueError):
        pass
    return "A worker of the cluster sent something that is not a result of this submission."


def _adds_up(result: ExerciseResult) -> bool:
    """Return whether a judge could have given these points, with these checks."""
    most = curriculum.find(result.exercise).points
    return (
        result.status is not Status.GRADER_ERROR
        and all(check.points <= check.max_points for check in result.checks)
        and _equal(result.points, (check.points for check in result.checks))
        and _equal(most, (check.max_points for check in result.checks))
        and _equal(most, [result.max_points])
        and not result.by_hand
    )


def _equal(total: float | None, parts: Iterable[float | None]) -> bool:
    return total is not None and abs(math.fsum(filter(None, parts)) - total) <= _ROUNDING


def _local(count: int) -> LocalCluster:
    from distributed import LocalCluster

    # A worker that is started then imports nothing from the current folder, maybe a student's.
    os.environ["PYTHONSAFEPATH"] = "1"
    return LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    )


def _refuse_others(client: Client, plan: Plan) -> None:
    """Raise `ClusterError` where a worker is not as this machine is, or where there is none."""
    own = machine()
    try:
        machines = client.run(_machine_of_worker, on_error="return")
    except Exception as error:
        raise _LostError from error
    if not machines:
        try:
            client.wait_for_workers(1, timeout=AWAY_SECONDS)
        except TimeoutError:
            raise ClusterError(
                "The cluster has no workers. Start some: dask worker ADDRESS --nthreads 1"
            ) from None
        return _refuse_others(client, plan)
    for address, theirs in machines.items():
        if not isinstance(theirs, Machine):
            raise ClusterError(
                f"The worker {address} cannot run this kit ({_plain(theirs)}). Install the same "
                "version of it there, with the extras [grader,cluster]."
            )
        differences = own.differences(theirs)
        if differences:
            raise ClusterError(
                f"The worker {address} would grade differently: {'; '.join(differences)}. Install "
                "the same on both, with constraints.txt."
            )
        if plan.isolation == "jail" and theirs.jail:
            raise ClusterError(f"The worker {address} has no jail. {theirs.jail}")
    return None


def _plain(error: object) -> str:
    lines = str(error).split("\n")
    return lines[0][:200] or type(error).__name__


# What follows runs in a worker. The judge lives in a thread of its own: its fork server ends with
# the thread that started it, and two submissions at a time would share torch's settings.
_thread = ThreadPoolExecutor(1, thread_name_prefix="judge")
_judges: dict[tuple[Plan, str], Judge] = {}


def _machine_of_worker() -> Machine:
    return machine()


def grade_one(plan: Plan, recordings: Recordings, submission: Submission) -> SubmissionResult | str:
    """Grade one submission in a worker of the cluster, or say in words why it could not be."""
    return _thread.submit(_grade, plan, recordings, submission).result()


def _grade(plan: Plan, recordings: Recordings, submission: Submission) -> SubmissionResult | str:
    try:
        return _judge(plan, recordings).grade(submission)
    except Exception as error:
        return f"{type(error).__name__}: {_plain(error)} (on {socket.gethostname()})"


def _judge(plan: Plan, recordings: Recordings) -> Judge:
    """Return the judge of this run; that of an earlier one is dismissed."""
    import torch

    from grader.grading.judge import Judge
    from grader.sandbox.host import Host

    key = (replace(plan, jobs=1), str(id(recordings)))
    if key not in _judges:
        _dismiss()
        torch.set_num_threads(1)
        host = Host(plan.program, plan.isolation, expected=plan.expected)
        _judges[key] = Judge(plan.exercises, recordings, host, searches=plan.search)
    return _judges[key]


def _failed_on(dask_scheduler: Scheduler, key: Key) -> list[str]:
    """Return where a task failed. It runs in the scheduler."""
    return [str(worker) for worker in dask_scheduler.tasks[key].erred_on or ()]


async def _end_judges() -> None:
    await asyncio.wrap_future(_thread.submit(_dismiss))


@atexit.register
def _dismiss() -> None:
    while _judges:
        _, judge = _judges.popitem()
        judge.host.close()
