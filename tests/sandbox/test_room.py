"""A fork server on a machine that has no memory, or no processes, left for a while."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.remote import child
from grader.sandbox.lockdown import Limits
from grader.sandbox.zygote import Zygote

Forks = Callable[[int], None]


@pytest.fixture
def server(tmp_path: Path) -> Zygote:
    """A fork server without a jail, in this process; its children are none."""
    return Zygote(child, [], Limits(), None, str(tmp_path))


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Forks:
    """Refuses so many forks; after them one is only said to have been made."""
    answers: Iterator[int] = iter(())

    def fork() -> int:
        if next(answers, None) is not None:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return 2**22

    def begin(number: int) -> None:
        nonlocal answers
        answers = iter(range(number))

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return begin


def held(server: Zygote) -> tuple[int, int]:
    """How many descriptors are open, and how many folders there are for children."""
    return len(os.listdir("/proc/self/fd")), len(os.listdir(str(server.scratch)))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_a_child_that_nobody_has_asked_for_yet_may_be_refused(
    server: Zygote, refused: Forks
) -> None:
    """It ended the fork server, and with it every child of every judge."""
    before = held(server)
    refused(1)
    assert server.spawn_ahead() is None
    assert held(server) == before
    assert server.children == {}


def test_one_that_is_asked_for_waits_for_room(server: Zygote, refused: Forks) -> None:
    refused(7)
    made = server.spawn_patiently()
    assert server.children == {made.pid: made}
    refused(10**6)
    with pytest.raises(BlockingIOError):
        server.spawn_patiently()
