"""What a worker of a cluster sends is a result of the submission that was asked for, or nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("distributed")

from grader.feedback.finding import Status
from grader.feedback.results import CheckResult, ExerciseResult, Override, SubmissionResult
from grader.grading.cluster import LARGEST, sound
from grader.grading.workers import Plan
from grader.submission import Submission

PLAN = Plan(("masks", "attention"), 1, "jail", 1)
ADA = Submission("ada")
SHAPE = CheckResult("test_shape", "The shape.", Status.PASSED, 5.0, 5.0)
VALUES = CheckResult("test_values", "The values.", Status.FAILED, 0.0, 10.0)
ALL = replace(SHAPE, points=10.0, max_points=10.0)
MASKS = ExerciseResult("masks", Status.PASSED, 10.0, 10.0, checks=(ALL,))
ATTENTION = ExerciseResult("attention", Status.FAILED, 5.0, 15.0, checks=(SHAPE, VALUES))
RIGHT = SubmissionResult("ada", 15.0, 25.0, (MASKS, ATTENTION))


def with_first(**changes: Any) -> SubmissionResult:
    return replace(RIGHT, exercises=(replace(MASKS, **changes), ATTENTION))


def test_a_result_is_taken() -> None:
    assert sound(RIGHT, PLAN, ADA) == RIGHT


@pytest.mark.parametrize(
    "junk",
    [
        None,
        b"junk",
        {"points": 25},
        [RIGHT],
        replace(RIGHT, submission="bo"),
        replace(RIGHT, points=25.0),
        replace(RIGHT, points=math.nan),
        replace(RIGHT, points="25"),  # type: ignore[arg-type]
        replace(RIGHT, exercises=()),
        replace(RIGHT, exercises=(MASKS,), points=10.0),
        replace(RIGHT, exercises=(MASKS, MASKS), points=20.0),
        replace(RIGHT, exercises=(MASKS, replace(ATTENTION, exercise="encoder"))),
        replace(RIGHT, exercises=None),  # type: ignore[arg-type]
        replace(with_first(points=99.0), points=104.0),
        with_first(points=-1.0),
        with_first(points=math.inf),
        with_first(status="excellent"),
        with_first(checks=(7,)),
        with_first(finding="text"),
        with_first(remarks=(object(),)),
        with_first(remarks=("long " * (LARGEST // 5),)),
        replace(RIGHT, points=None),
        replace(RIGHT, exercises=(ATTENTION, MASKS)),
        replace(RIGHT, exercises=tuple(replace(one, points=None) for one in (MASKS, ATTENTION))),
        replace(with_first(points=99.0, max_points=99.0), points=104.0, max_points=114.0),
        replace(with_first(points=9.0), points=14.0),
        with_first(status=Status.GRADER_ERROR),
        with_first(checks=()),
        with_first(checks=(replace(ALL, points=math.nan),)),
        with_first(checks=(replace(ALL, max_points=99.0),)),
        with_first(checks=(SHAPE, replace(SHAPE, check="test_more", max_points=4.0))),
        with_first(checks=(replace(ALL, override=Override(0.0, "given by nobody")),)),
    ],
)
def test_anything_else_is_told_to_be_none(junk: object) -> None:
    reason = sound(junk, PLAN, ADA)
    assert isinstance(reason, str)
    assert "not a result of this submission" in reason


def test_words_of_a_worker_are_one_short_line() -> None:
    assert sound("MemoryError: no memory\nsecond line", PLAN, ADA) == "MemoryError: no memory"
