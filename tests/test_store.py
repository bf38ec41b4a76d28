"""What is finished is on the disk, once; a second run, or another plan, is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.report.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Integration,
    SubmissionResult,
)
from grader.report.store import Store, StoreError

PLAN: dict[str, object] = {"exercises": ["attention"], "seed": 7}
RESULT = SubmissionResult(
    "ada",
    3.0,
    15.0,
    (
        ExerciseResult(
            "attention",
            "failed",
            3.0,
            15.0,
            "",
            (CheckResult("agrees", "The output …", "passed", 3.0, 3.0),),
            (Diagnosis(("scaled-by-d-k",), "Your scores …"),),
        ),
    ),
    Integration("passed", "They do."),
)


def test_what_was_added_is_there_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "grades.partial"
    store = Store(path, PLAN, resume=False)
    store.add("digest", RESULT)
    store.database.close()  # as the end of the process does, without a goodbye
    with Store(path, {**PLAN, "seed": 8}, resume=True) as again:
        assert again.results() == {("ada", "digest"): RESULT}
        assert again.plan == PLAN
        again.add("digest", RESULT)
        assert len(again.results()) == 1


def test_an_unfinished_run_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "grades.partial"
    with Store(path, PLAN, resume=False):
        pass
    with pytest.raises(StoreError, match="--resume"):
        Store(path, PLAN, resume=False)


def test_two_runs_into_one_store_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "grades.partial"
    with Store(path, PLAN, resume=False), pytest.raises(StoreError, match="Another run"):
        Store(path, PLAN, resume=True)
    with Store(path, PLAN, resume=True):
        pass


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "grades.partial"
    path.write_text("something else, and long enough to be no empty database" * 20)
    with pytest.raises(StoreError, match="no store"):
        Store(path, PLAN, resume=True)
