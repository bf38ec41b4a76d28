"""Hidden checks of `masks`: who may attend to whom (Vaswani et al. 2017, section 3.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import assert_not_edited
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs, transposed
from grader.feedback.comparison import Mismatch, assert_matches
from grader.remote.session import StudentError

AXES = ("batch", "head", "query", "key")


@dataclass(frozen=True)
class Batch:
    """Token ids in which `pad_id` occurs at the start, in the middle and at the end."""

    ids: Tensor
    pad_id: int

    @property
    def padding(self) -> Tensor:
        """The padding mask. (batch, 1, 1, key)"""
        return (self.ids != self.pad_id)[:, None, None]

    @property
    def target(self) -> Tensor:
        """The padding mask and the causal mask combined. (batch, 1, query, key)"""
        return self.padding & causal(self.ids.size(1))


def causal(length: int) -> Tensor:
    """Return True where a key is not later than its query. (1, 1, query, key)"""
    return torch.ones(1, 1, length, length, dtype=torch.bool).tril()


@inputs
def batches(draw: st.DrawFn, numbers: Numbers, pad_ids: st.SearchStrategy[int]) -> Batch:
    """Draw batches whose size is not their length, the first rows with padding at either end."""
    batch, length = draw(distinct_sizes(2, low=3, high=8))
    pad_id = draw(pad_ids)
    ids = numbers.ids("ids", batch, length, high=10)
    ids[0, -1] = ids[1, 0] = ids[2, 1] = pad_id
    # A word at each position where another row has padding, so that no constant mask is right.
    word = (pad_id + 1) % 10
    ids[0, 0] = ids[1, 1] = ids[1, -1] = ids[2, 0] = word
    ids[2, -1] = 0 if pad_id else word
    return Batch(ids, pad_id)


@check(points=2, inputs=batches(st.just(0)), examples=5)
def test_padding_is_hidden_from_everybody(student: Any, batch: Batch) -> None:
    """The padding mask is False exactly where a key is padding, the same for all heads and queries.

    Sees a mask that is the wrong way round, hides queries instead of keys, holds numbers, or
    expects padding only at the end of a sentence.
    """
    assert_matches(student.padding_mask(batch.ids), batch.padding, "padding mask", axes=AXES)


@check(points=1, inputs=batches(st.integers(1, 9)), examples=4)
def test_any_id_may_stand_for_padding(student: Any, batch: Batch) -> None:
    """The padding mask hides `pad_id`, whichever id that is; 0 is then a word like any other.

    Sees a comparison with 0 instead of `pad_id`, and a `>` instead of a `!=`.
    """
    result = student.padding_mask(batch.ids, batch.pad_id)
    assert_matches(result, batch.padding, f"padding mask for pad_id={batch.pad_id}", axes=AXES)


@check(points=2, inputs=st.integers(2, 9), examples=5)
def test_nobody_sees_the_future(student: Any, length: int) -> None:
    """The causal mask lets a query see itself and earlier tokens, and nothing later.

    Sees the upper triangle in place of the lower one, and a diagonal that is off by one.
    """
    assert_matches(student.causal_mask(length), causal(length), "causal mask", axes=AXES)


@check(points=1)
def test_the_causal_mask_has_any_length(student: Any) -> None:
    """The causal mask can have any length, and is created on the device that its argument names.

    Sees a table of fixed length, a mask kept from the previous call, a single token that may not
    see itself, and a `device` that is not used.
    """
    for length in (3, 1, 4, 300):
        result = student.causal_mask(length)
        assert_matches(result, causal(length), f"causal mask of length {length}", axes=AXES)
    result = student.causal_mask(3, device="cpu")
    assert_matches(result, causal(3), "causal mask on the device 'cpu'", axes=AXES)
    try:
        student.causal_mask(3, device="nowhere")
    except StudentError:
        return
    raise Mismatch(
        "causal_mask(3, device='nowhere') returns a mask, although there is no such device.",
        help="Where does your code say on which device the new tensor is created?",
    )


@check(points=2, inputs=batches(st.just(0)), examples=5)
def test_the_target_mask_is_both_at_once(student: Any, batch: Batch) -> None:
    """The target mask is True exactly where the key is neither padding nor later than the query.

    Sees `or` instead of `and`, a missing half, and queries hidden instead of keys.
    """
    assert_matches(student.target_mask(batch.ids), batch.target, "target mask", axes=AXES)


@check(points=1, inputs=batches(st.integers(1, 9)), examples=4)
def test_the_target_mask_knows_the_padding_id(student: Any, batch: Batch) -> None:
    """The target mask hides `pad_id` too, whichever id that is.

    Sees a `pad_id` that is not passed on.
    """
    result = student.target_mask(batch.ids, pad_id=batch.pad_id)
    assert_matches(result, batch.target, f"target mask for pad_id={batch.pad_id}", axes=AXES)


@check(points=1, inputs=batches(st.just(0)), examples=3)
def test_takes_ids_as_they_come(student: Any, batch: Batch) -> None:
    """Any batch of ids works, even a single token, and the ids are not modified.

    Sees sizes taken from a wrong axis, axes of size 1 that get lost, in-place changes, and changed
    global settings of torch.
    """
    settings = student.global_settings()
    ids = transposed(batch.ids)
    for function, expected in (("padding_mask", batch.padding), ("target_mask", batch.target)):
        result, after = getattr(student, function).echo(ids)
        assert_matches(result, expected, function, axes=AXES)
        assert_not_edited([ids], after, ["ids"])
    one_row, one_token = Batch(batch.ids[:1], 0), Batch(batch.ids[:, :1], 0)
    single = Batch(torch.tensor([[7]]), 0)
    for case in (one_row, one_token, single):
        assert_matches(student.padding_mask(case.ids), case.padding, "padding mask", axes=AXES)
        assert_matches(student.target_mask(case.ids), case.target, "target mask", axes=AXES)
    if student.global_settings() != settings:
        raise Mismatch("Your code changes a global setting of torch.")
