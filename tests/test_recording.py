"""The cases of a run are drawn once, and never one on which the reference itself fails."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import pytest

from grader.checks import framework
from grader.checks.framework.inputs import Numbers
from grader.checks.stack_cases import Sizes
from grader.checks.transformer_cases import TransformerCase
from grader.curriculum import reference
from grader.judging.recording import MAX_DRAWS, RecordingError, record

CHECK = next(one for one in framework.load("attention") if one.inputs)


def failing(times: int) -> framework.Check:
    """A check that fails so many times, whatever it is asked, and then does what it does."""
    left = [times]

    @functools.wraps(CHECK.body)
    def body(*arguments: Any, **named: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise AssertionError("a case that tells nothing")
        CHECK.body(*arguments, **named)

    return replace(CHECK, body=body)


def test_a_case_on_which_the_reference_fails_is_drawn_anew() -> None:
    answer = reference.module("attention")
    first, second = (record(failing(times), answer, 1) for times in (0, 1))
    assert first.seed != second.seed
    assert len(first.cases) == len(second.cases) > 0


def test_a_check_that_the_reference_never_passes_is_an_error() -> None:
    with pytest.raises(RecordingError, match="a case that tells nothing"):
        record(failing(MAX_DRAWS), reference.module("attention"), 1)


@pytest.mark.parametrize("pad_id", range(1, 9))
def test_special_ids_are_never_those_of_padding(pad_id: int) -> None:
    sizes = Sizes(batch=2, length=4, source=5, n_heads=2, d_head=3, d_ff=7)
    case = TransformerCase(sizes, 9, 10, pad_id, Numbers(1, 0), 1, False, "relu")
    case = case.with_special_ids
    for ids in (case.src, case.tgt):
        assert (ids != pad_id).all()
