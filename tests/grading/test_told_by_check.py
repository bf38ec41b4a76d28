"""Where nothing else says what is wrong, what a check says in words is named."""

from __future__ import annotations

import pytest
import torch

from grader.feedback.comparison import assert_matches
from grader.feedback.finding import Status
from grader.feedback.mismatch import Mismatch
from grader.feedback.results import CheckResult, Diagnosis, ExerciseResult
from grader.grading.told_by_check import with_what_a_check_tells

CHECKS = tuple(CheckResult(name, name, Status.FAILED, 0.0, 1.0) for name in ("first", "second"))
RESULT = ExerciseResult("positional", Status.FAILED, 0.0, 2.0, None, CHECKS)
BUFFER = Mismatch("There is no buffer `pe`.", help="See register_buffer.")


def test_what_the_first_check_says_is_named() -> None:
    said = {"second": Mismatch("Later."), "first": BUFFER}
    (named,) = with_what_a_check_tells(said, RESULT).diagnoses
    assert named.message == "There is no buffer `pe`.\nSee register_buffer."


def test_a_slip_that_its_numbers_show_comes_before_what_only_sees_them() -> None:
    slip = Mismatch("Your numbers are halved.")
    slip.names_cause = True
    (named,) = with_what_a_check_tells({"first": BUFFER, "second": slip}, RESULT).diagnoses
    assert named.message == "Your numbers are halved."


def test_nothing_is_added_to_a_known_mistake_and_nothing_said_of_checks_without_points() -> None:
    known = ExerciseResult(
        "positional", Status.FAILED, 0.0, 2.0, None, CHECKS, diagnoses=(Diagnosis(("a",), "A."),)
    )
    assert with_what_a_check_tells({"first": BUFFER}, known) is known
    assert with_what_a_check_tells({"third": BUFFER}, RESULT) is RESULT


@pytest.mark.parametrize("wanted", [torch.tensor(2.0), torch.tensor([2.0, 3.0])])
def test_numbers_alone_say_nothing(wanted: torch.Tensor) -> None:
    with pytest.raises(Mismatch) as mismatch:
        assert_matches(wanted + 1, wanted)
    assert not mismatch.value.says
