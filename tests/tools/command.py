"""`grader` in the test's own process, for what a command says and writes: that takes no start."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader import cli
from grader.feedback.results import SubmissionResult
from grader.grading import workers
from grader.submission import Submission
from tests.tools.recorded import RECORDINGS

if TYPE_CHECKING:
    from grader.sandbox.host import Host

Grader = Callable[..., "subprocess.CompletedProcess[str]"]


class Here:
    """In place of workers: a judge with the sandbox and the cases that all tests share."""

    def __init__(self, plan: workers.Plan, host: Host) -> None:
        from grader.grading.judge import Judge

        self.judge = Judge(plan.exercises, RECORDINGS, host, searches=plan.search)

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, work: dict[str, Submission]) -> Iterator[tuple[str, SubmissionResult]]:
        for key, submission in work.items():
            yield key, self.judge.grade(submission)


def here(host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Grader:
    """Return a function that runs `grader` with these arguments in a folder."""

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        words = ["grader", *map(str, arguments)]
        with monkeypatch.context() as patch:
            patch.setattr(workers, "_Processes", lambda plan, *_: Here(plan, host))
            patch.setattr("sys.argv", words)
            patch.chdir(cwd or Path.cwd())
            capsys.readouterr()
            status: Any = 0
            try:
                cli.main()
            except SystemExit as end:
                status = end.code or 0
        return subprocess.CompletedProcess(words, status, *capsys.readouterr())

    return run
