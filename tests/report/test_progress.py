"""How far a run is, where nobody can see a bar: a pipe, a log."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from grader.curriculum import NAMES
from grader.feedback.finding import Status
from grader.feedback.results import ExerciseResult, SubmissionResult
from grader.report.terminal import Terminal


def test_a_pipe_gets_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("grader.report.terminal.time.monotonic", lambda: now)
    output = Terminal()
    output.errors = Console(file=io.StringIO())
    results = [SubmissionResult(f"student {number}", 1, 1, ()) for number in range(10)]

    def graded() -> Iterator[SubmissionResult]:
        nonlocal now
        for result in results:
            now += 4
            yield result

    assert list(output.track(graded(), 10)) == results
    assert output.errors.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "graded 3 of 10, 0.2/s, about 28 s left",
        "graded 6 of 10, 0.2/s, about 16 s left",
        "graded 9 of 10, 0.2/s, about 4 s left",
    ]


def test_a_table_of_thirty_exercises_breaks_no_name() -> None:
    output = Terminal()
    output.console = Console(file=io.StringIO(), width=80)
    exercises = tuple(ExerciseResult(name, Status.PASSED, 10, 10) for name in NAMES)
    output.table([SubmissionResult(name, 300, 300, exercises) for name in ("ada", "b" * 50)])
    shown = output.console.file.getvalue()  # type: ignore[attr-defined]
    headings = [line.split() for line in shown.splitlines() if line.startswith("submission")]
    assert [name for line in headings for name in line[1:]] == [*NAMES, "points"]
    assert max(map(len, shown.splitlines())) <= 80
