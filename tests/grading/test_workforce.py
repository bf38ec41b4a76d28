"""Workers that end in mid-sentence, or for which there is no room."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

import pytest

from grader.feedback.finding import Status
from grader.grading import workers
from grader.grading.judge import Judge
from grader.sandbox import lockdown
from grader.sandbox.host import Host, HostError
from grader.submission import Submission
from tests.report.test_store import RESULT

PLAN = workers.Plan(("attention",), 3, "process", 2)
CLASS = [Submission(name, {"attention": f"# {name}"}) for name in ("ada", "bob", "eve")]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that finds at once what the tests of results are made of; no sandbox, no cases."""
    monkeypatch.setattr(workers, "_hosts", lambda _plan, count: [None] * count)
    monkeypatch.setattr(workers, "record_checks", lambda *_, **__: None)
    monkeypatch.setattr(workers, "_judge", lambda *_: _Quick())


class _Quick(Judge):
    def __init__(self) -> None:
        pass

    def grade(self, submission: Submission) -> Any:
        return replace(RESULT, submission=submission.name)


def test_everybody_has_a_result() -> None:
    result = list(workers.grade(CLASS, PLAN))
    assert sorted(item.submission for item in result) == ["ada", "bob", "eve"]


@pytest.mark.parametrize("sends", [b"", b"\0\0", b"\0\0\xff\xff half of what", b"\0\0\0\4junk"])
def test_a_worker_that_ends_while_it_answers_costs_no_one_else(
    monkeypatch: pytest.MonkeyPatch, sends: bytes
) -> None:
    """Memory that runs out ends a process anywhere, in the middle of its answer, too."""
    real = workers._work

    def work(connection: Any, *others: Any) -> None:
        send = connection.send

        def ends(result: Any) -> None:
            if result.submission == "bob":
                os.write(connection.fileno(), sends)
                os.kill(os.getpid(), signal.SIGKILL)
            send(result)

        connection.send = ends
        real(connection, *others)

    monkeypatch.setattr(workers, "_work", work)
    results = {graded.submission: graded for graded in workers.grade(CLASS, PLAN)}
    assert sorted(results) == ["ada", "bob", "eve"]
    (lost,) = results["bob"].exercises
    assert (lost.status, lost.points) == (Status.GRADER_ERROR, None)
    assert results["ada"].points == results["eve"].points == RESULT.points


def test_where_there_is_no_room_for_more_workers_fewer_grade(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = workers._Worker.__init__
    started: list[object] = []

    def start(self: Any, *arguments: Any) -> None:
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(self)
        real(self, *arguments)

    monkeypatch.setattr(workers._Worker, "__init__", start)
    assert len(list(workers.grade(CLASS, PLAN))) == 3
    assert len(started) == 1
    with pytest.raises(workers.WorkforceError, match="No worker could be started"):
        list(workers.grade(CLASS, PLAN))


def test_workers_are_as_many_as_can_open_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, most in ((64, 1), (72, 2), (1024, 240)):
        monkeypatch.setattr(lockdown.resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert workers._room() == most


def test_sandboxes_are_as_many_as_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def several(count: int, *_: Any) -> list[str]:
        if count > 3:
            raise HostError("no room")
        return ["a sandbox"] * count

    monkeypatch.setattr(Host, "several", several)
    assert len(workers._hosts(PLAN, 9)) == 2
    monkeypatch.setattr(Host, "several", lambda *_: several(9))
    assert workers._hosts(PLAN, 9) == [None]
