"""A class graded on a Dask cluster gets the grades it gets here, whoever is lost on the way."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from socket import create_server

import pytest

from grader.curriculum.project import SOLUTIONS
from grader.feedback.results import SubmissionResult
from grader.grading import cluster, workers
from grader.grading.cluster import ClusterError
from grader.submission import Submission
from tests.tools.jailed import PROBLEMS

RIGHT = (SOLUTIONS / "masks.py").read_text(encoding="utf-8")
WRONG = RIGHT.replace("!= pad_id", "== pad_id")


class Cluster:
    """A scheduler and workers, each a process that can be killed."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        with create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"

    def scheduler(self) -> subprocess.Popen[bytes]:
        return self._started("scheduler", "--host", "127.0.0.1", "--port", str(self.port))

    def worker(self, *options: str) -> subprocess.Popen[bytes]:
        return self._started("worker", self.address, "--nthreads", "1", "--no-nanny", *options)

    def _started(self, *command: str) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_" + command[0],
                *command[1:],
                "--no-dashboard",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.stack.callback(started.wait)
        self.stack.callback(started.kill)
        return started


@pytest.fixture
def plan() -> workers.Plan:
    return workers.Plan(("masks",), 7, "process" if PROBLEMS else "jail", 2)


def a_class(count: int) -> list[Submission]:
    texts = [RIGHT, WRONG, RIGHT + "\nimport os; os._exit(0)\n"]
    return [
        Submission(f"student {number}", {"masks": f"{texts[number % 3]}\n# {number}\n"})
        for number in range(count)
    ]


def graded(results: Iterator[SubmissionResult]) -> dict[str, SubmissionResult]:
    return {item.submission: item for item in results}


def fork_servers(worker: subprocess.Popen[bytes]) -> list[str]:
    """The processes that a worker has started, where the system tells."""
    tasks = Path(f"/proc/{worker.pid}/task").glob("*/children")
    return [number for task in tasks for number in task.read_text().split()]


@pytest.mark.full(seconds=30)
def test_a_lost_worker_and_a_lost_scheduler_change_no_grade(plan: workers.Plan) -> None:
    handed_in = a_class(24)
    alone = graded(workers.grade(handed_in, plan))
    with ExitStack() as stack:
        started = Cluster(stack)
        scheduler, worker = started.scheduler(), started.worker()
        started.worker()
        results, spread = (
            workers.grade(handed_in, plan, cluster.recruit(f"dask:{started.address}")),
            {},
        )
        for number, result in enumerate(results):
            spread[result.submission] = result
            if number == 4:
                worker.kill()
            if number == 9:
                scheduler.kill()
                scheduler.wait()
                time.sleep(1)
                started.scheduler()
                last = started.worker()
        assert not fork_servers(last), "a worker keeps a process with torch in it"
    assert spread == alone
    assert {item.points for item in alone.values()} == {0, 3, 10}


@pytest.mark.full(seconds=30)
def test_a_worker_that_sends_junk_costs_nobody_a_grade(plan: workers.Plan, tmp_path: Path) -> None:
    junk = tmp_path / "junk.py"
    junk.write_text(
        "from grader.grading import cluster\n"
        "cluster.grade_one = lambda plan, recordings, submission: {'points': 10}\n"
    )
    submissions = a_class(6)
    with ExitStack() as stack:
        found = Cluster(stack)
        found.scheduler()
        found.worker("--preload", str(junk))
        found.worker()
        results = graded(workers.grade(submissions, plan, cluster.recruit(f"dask:{found.address}")))
    assert {name: one.points for name, one in results.items()} == {
        f"student {number}": (10, 3, 0)[number % 3] for number in range(6)
    }


def test_a_worker_with_another_version_is_refused(
    plan: workers.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(cluster.machine(), torch="2.6.0")
    monkeypatch.setattr(cluster, "machine", lambda: other)
    with pytest.raises(ClusterError, match=r"it has torch 2\.\d+\.\d+, this machine 2\.6\.0"):
        graded(workers.grade(a_class(1), plan, cluster.recruit("dask:local")))


@pytest.mark.parametrize("where", ["local", "dask:", "ray:head"])
def test_what_is_no_address_is_told(where: str) -> None:
    with pytest.raises(ClusterError, match="--on takes dask:ADDRESS"):
        cluster.recruit(where)


def test_where_no_scheduler_answers_the_command_for_one_is_told(plan: workers.Plan) -> None:
    recruit = cluster.recruit("dask:tcp://127.0.0.1:9")
    with pytest.raises(ClusterError, match="dask scheduler"):
        graded(workers.grade(a_class(1), plan, recruit))


@pytest.mark.full(seconds=6)
def test_workers_on_this_machine_import_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a student's, and what a worker imports runs with the instructor's rights."""
    trace = tmp_path / "trace"
    for name in ("multiprocessing", "distributed", "random"):
        (tmp_path / f"{name}.py").write_text(f"open({str(trace)!r}, 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with cluster._local(1) as started:
        started.wait_for_workers(1, timeout=60)
    assert not trace.exists()
