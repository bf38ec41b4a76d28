"""What is finished is on the disk, once; a second run, or another plan, is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from grader.feedback.finding import Finding, Grid, Place, Status
from grader.feedback.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Integration,
    SubmissionResult,
    submission_fields,
    submission_result,
    weighed,
)
from grader.report.store import Store, StoreError

PLAN: dict[str, object] = {"exercises": ["attention"], "seed": 7}
FINDING = Finding(
    "1 of 2 numbers in your output is wrong.",
    Grid(
        yours=((0.5, math.inf),),
        expected=((0.5, 0.25),),
        differs=((False, True),),
        rows=("query 0",),
        columns=("key 0", "key 1"),
        where="batch 1",
    ),
    "Divided by what?",
    (Place("attention.py", 3, "return weights"),),
)
RESULT = SubmissionResult(
    "ada",
    3.0,
    15.0,
    (
        ExerciseResult(
            "attention",
            Status.FAILED,
            3.0,
            15.0,
            None,
            (
                CheckResult("shape", "The shape …", Status.PASSED, 3.0, 3.0),
                CheckResult("agrees", "The output …", Status.FAILED, 0.0, 3.0, FINDING),
            ),
            (Diagnosis(("scaled-by-d-k",), "Your scores …"),),
        ),
    ),
    Integration(Status.PASSED, Finding("They do.")),
)


def test_an_exercise_weighed_anew_keeps_its_share_and_so_do_its_checks() -> None:
    (whole,) = RESULT.exercises
    twice = weighed(whole, 30.0)
    assert (twice.points, twice.max_points) == (6.0, 30.0)
    assert [(check.points, check.max_points) for check in twice.checks] == [(6.0, 6.0), (0.0, 6.0)]
    assert weighed(whole, 15.0) is whole


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


def test_the_json_is_json_and_has_the_finding_beside_its_text() -> None:
    fields = submission_fields(RESULT)
    text = json.dumps(fields, allow_nan=False)  # "Infinity" is a word that no other program reads
    assert json.loads(text) == fields
    (_, agrees) = fields["exercises"][0]["checks"]
    assert agrees["message"].splitlines()[0] == "1 of 2 numbers in your output is wrong."
    assert agrees["message"].splitlines()[-1] == "  attention.py, line 3: return weights"
    assert agrees["finding"]["grid"]["yours"] == [[0.5, "inf"]]
    assert agrees["finding"]["places"][0]["line"] == 3


def test_a_report_older_than_findings_is_read() -> None:
    data = json.loads(json.dumps(submission_fields(RESULT)))
    for check in data["exercises"][0]["checks"]:
        del check["finding"]
    (_, agrees) = submission_result(data).exercises[0].checks
    assert agrees.message == RESULT.exercises[0].checks[1].message


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
