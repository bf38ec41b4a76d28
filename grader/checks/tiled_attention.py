"""Hidden checks of `tiled_attention`: attention by blocks of keys (Dao et al. 2022)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.checks.attention_cases import (
    AXES,
    AttentionCase,
    assert_follow_the_scores,
    assert_hidden,
    assert_mask_holds,
    softmax_scores,
)
from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_gradients,
    assert_not_edited,
    gradients,
    matches,
)
from grader.checks.framework.inputs import Numbers, random_numbers, transposed
from grader.checks.framework.precision import assert_settings_kept, either_precision
from grader.checks.tiled_attention_cases import (
    LONG_BLOCK,
    LONG_KEYS,
    LONG_QUERIES,
    LongCase,
    Weighing,
    banded,
    ordered_by_score,
    tiled_cases,
)
from grader.curriculum.rules import memory
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_shape,
    too_large,
)
from grader.remote.session import StudentError

MEMORY = memory(["tiled_attention"]) or 0


@check(points=2, inputs=tiled_cases(), examples=3)
@either_precision
def test_agrees_with_torch(student: Any, case: AttentionCase) -> None:
    """The output is that of attention, softmax(QKᵀ/√d)V.

    Sees a missing or wrong scale, a running sum or output that is not rescaled when the maximum
    grows, and a last block that is left out.
    """
    for block in (3, 4, case.key.size(2), 40):
        output = student.tiled_attention(*case.inputs, None, block)
        assert_matches(output, case.output, f"output with block={block}", axes=AXES)
    output = student.tiled_attention(*case.inputs)
    assert_matches(output, case.output, "output with neither mask nor block given", axes=AXES)
    square = case.square
    output = student.tiled_attention(*square.inputs, block=2)
    assert_matches(output, square.output, "output for as many queries as keys", axes=AXES)


@check(points=1, inputs=tiled_cases(masked=True), examples=2)
@either_precision
def test_blocks_make_no_difference(student: Any, case: AttentionCase) -> None:
    """The output is the same for any `block`: 1, a non-divisor, or more than there are keys.

    Sees a last block that is short and left out or padded, and an argument that is ignored where a
    default of 64 hides it. A wrong scale passes: it costs points in another check.
    """
    n_keys = case.key.size(2)
    weights = Weighing(student, n_keys).weights(case.query, case.key, case.mask)
    assert_follow_the_scores(weights, case.weights, case.mask)
    whole = student.tiled_attention(*case.inputs, case.mask, n_keys)
    for block in (1, 2, n_keys - 1, n_keys + 3):
        for mask, expected in ((case.mask, whole), (None, None)):
            if expected is None:
                expected = student.tiled_attention(*case.inputs, None, n_keys)
            output = student.tiled_attention(*case.inputs, mask, block=block)
            subject = f"output with block={block}"
            sides = (f"block={block}", f"block={n_keys}")
            assert_matches(output, expected, subject, axes=AXES, sides=sides)


@check(points=1.5, inputs=tiled_cases(), examples=2)
@either_precision
def test_masked_positions_get_nothing(student: Any, case: AttentionCase) -> None:
    """A key where the mask is False does not affect the output, whichever shape the mask has.

    Sees a mask that is read the other way round, ignored, not cut into blocks, or cut along an axis
    of size 1, and what a block leaves behind in which nothing is visible.
    """
    weighing = Weighing(student, 4)
    n_keys = case.key.size(2)
    bands = [banded(case, *ends) for ends in ((5, 7), (0, 3), (n_keys - 2, n_keys))]
    single = case.numbers.mask("of the keys", n_keys)
    for mask in (*case.masks, single, *bands):
        weights = weighing.weights(case.query, case.key, mask)
        assert_follow_the_scores(weights, case.weights_under(mask), mask)
        assert_hidden(weights, mask)


@check(points=1, inputs=tiled_cases(masked=True), examples=2)
@either_precision
def test_large_scores(student: Any, case: AttentionCase) -> None:
    """Scores of up to a thousand in size give no NaN, in any order, and the mask holds for them.

    Sees exponentials without a maximum taken off, or with that of the block alone, a factor that
    is turned upside down, and a fill such as -100.
    """
    assert_mask_holds(Weighing(student, 3), case, 1000.0)
    for falling in (False, True):
        query, key = ordered_by_score(case, 1000.0, falling)
        weights = Weighing(student, 3).weights(query, key)
        expected = softmax_scores(query.double(), key.double())
        subject = f"weights of {'falling' if falling else 'rising'} scores"
        assert_matches(weights, expected, subject, axes=(*AXES[:3], "key"), atol=1e-3)


@check(points=1, inputs=tiled_cases(masked=True), examples=2)
@either_precision
def test_a_row_without_keys_stays_finite(student: Any, case: AttentionCase) -> None:
    """A query with nothing to attend to gives finite numbers, and does not affect the others.

    Sees the NaN of zero over zero, and of a maximum of -inf.
    """
    first = torch.ones(case.query.size(2), 1, dtype=torch.bool)
    first[0] = False
    for mask in (case.empty_rows, first):
        output = student.tiled_attention(*case.inputs, mask, 4)
        assert_finite(output, axes=AXES)
        weights = Weighing(student, 4).weights(case.query, case.key, mask)
        assert_finite(weights, "output for the identity as values", axes=AXES)
        full = torch.broadcast_to(mask, weights.shape)[:, :, 1:]
        expected = case.weights_under(mask)[:, :, 1:]
        assert_follow_the_scores(weights[:, :, 1:], expected, full)


@check(points=1.5, inputs=tiled_cases(masked=True), examples=2)
@either_precision
def test_gradients_agree_with_torch(student: Any, case: AttentionCase) -> None:
    """Gradients flow back to query, key and value as through torch's own function.

    Sees a `detach`, a `.data`, a `torch.no_grad()`, and sums that are written in place into what
    the backward pass still needs.
    """
    inputs = [tensor.clone().requires_grad_() for tensor in case.inputs]
    output = student.tiled_attention(*inputs, case.mask, 4)
    result = gradients(output, inputs, case.cotangent)
    assert_gradients(result, case.gradients, ("query", "key", "value"))


@check(points=1, inputs=random_numbers(), examples=1)
def test_no_tensor_holds_all_scores(student: Any, numbers: Numbers) -> None:
    """No tensor grows with Lq × Lk: neither the scores of all keys nor a mask of them.

    Sees the matrix built after all, as a whole or from its blocks, and `~mask`. A wrong scale
    passes: it costs points in another check.
    """
    # Other widths than 5 show: all keys, and 64, the default.
    batch, heads, queries, keys, d_k, d_v, block = 2, 3, 100, 98, 4, 3, 5
    query = numbers.normal("query", batch, heads, queries, d_k, dtype=torch.float32)
    key = numbers.normal("key", batch, heads, keys, d_k, dtype=torch.float32)
    value = numbers.normal("value", batch, heads, keys, d_v, dtype=torch.float32)

    def assert_within(width: int, *arguments: Any) -> None:
        limit = batch * heads * queries * width
        output, larger = student.tiled_attention.within(limit, query, key, value, *arguments)
        assert_shape(output, dict(zip(AXES, (batch, heads, queries, d_v), strict=True)))
        if larger:
            given = f"block={block}" if arguments else "no block given"
            subject = f"For {queries} queries, {keys} keys and {given}, your code"
            help = (
                f"The limit is {batch} × {heads} × {queries} × {width}. Is it the scores or a mask?"
            )
            raise too_large(larger, limit, subject, help)

    assert_within(block, None, block)
    for shape in ((queries, keys), (batch, 1, queries, keys)):
        assert_within(block, numbers.mask(f"mask {shape}", *shape), block)
    assert_within(64)
    _check_long(student, LongCase(numbers))


def _check_long(student: Any, case: LongCase) -> None:
    """What the process has no memory for cannot be made, whatever it says of itself."""
    length = f"{LONG_QUERIES} queries, {LONG_KEYS} keys and block={LONG_BLOCK}"
    try:
        output = student.tiled_attention(*case.inputs, None, LONG_BLOCK)
    except StudentError as error:
        if "memory" not in error.text and "MemoryError" not in error.kinds:
            raise
        raise Mismatch(
            f"For {length}, your code needs more memory than the {MEMORY >> 20} MB that it has.",
            help="Which of your tensors, or lists of tensors, grow with Lq × Lk?",
        ) from None
    subject = f"output for {length}"
    assert_shape(output, tuple(case.output.shape), subject)
    assert_finite(output, subject, axes=AXES)
    # With another scale the averages are others and go up and down with these: measured, 0.7 to
    # 0.85. Computed in half the memory, in bfloat16, they are as near as 0.9997 and off by 0.05;
    # right answers are off by 1e-5.
    pair = torch.stack([output.double().flatten(), case.output.flatten()])
    likeness = torch.corrcoef(pair)[0, 1].item()
    if not likeness > 0.5:
        raise Mismatch(f"Your {subject} is not that of attention.")
    if likeness > 0.999:
        assert_matches(output, case.output, subject, axes=AXES, rtol=1e-4, atol=1e-4)


@check(points=0.5, inputs=tiled_cases(), examples=2)
@either_precision
def test_takes_any_leading_axes(student: Any, case: AttentionCase) -> None:
    """Any number of leading axes works, even none, and any axis may have size 1.

    Sees sizes taken from fixed axes, code or a mask written for four axes only, a mask that a
    single query does not get, and a `squeeze` that takes away too much.
    """
    weights = Weighing(student, 4).weights(case.query, case.key)
    assert_follow_the_scores(weights, case.weights)
    output = student.tiled_attention(*case.inputs, None, 4)
    assert_shape(output, tuple(case.output.shape))
    mask = case.numbers.mask("of two axes", case.query.size(2), case.key.size(2))
    masked = student.tiled_attention(*case.inputs, mask, 4)
    assert_shape(masked, tuple(case.output.shape))
    for index, subject in (
        ((0, 0), "without batch and heads"),
        ((0,), "without heads"),
        (None, ""),
    ):
        subject = subject or "with one more axis in front"
        for given, whole in ((None, output), (mask, masked)):
            part = student.tiled_attention(*(tensor[index] for tensor in case.inputs), given, 4)
            with_mask = "" if given is None else " and with a mask of two axes"
            assert_matches(part, whole[index], f"output {subject}{with_mask}")
    query, key, value = case.inputs
    alone = student.tiled_attention(query[:, :, :1], key, value, mask[:1], 4)
    assert_matches(alone, masked[:, :, :1], "output for a single query with a mask", axes=AXES)
    first = [tensor[:1, :1, :1] for tensor in case.inputs]
    single = student.tiled_attention(*first, None, 4)
    assert_matches(single, first[2], "output for a single query and a single key", axes=AXES)


@check(points=0.5, inputs=tiled_cases(masked=True), examples=2)
@either_precision
def test_takes_tensors_as_they_come(student: Any, case: AttentionCase) -> None:
    """Any memory layout and floating dtype works, and no input is modified.

    Sees `view` on a tensor that is not contiguous, in-place changes, tensors of a fixed dtype, and
    changed global settings of torch.
    """
    settings = student.global_settings()
    weights = Weighing(student, 4).weights(case.query, case.key, case.mask)
    assert_follow_the_scores(weights, case.weights, case.mask)
    plain = student.tiled_attention(*case.inputs, case.mask, 4)
    assert_shape(plain, tuple(case.output.shape))
    assert case.mask is not None
    arguments = [*(transposed(tensor) for tensor in case.inputs), case.mask]
    output, after = student.tiled_attention.echo(*arguments, 4)
    assert_matches(output, plain, axes=AXES)
    assert_not_edited(arguments, after[:-1], ("query", "key", "value", "mask"))
    _check_narrow_types(student, case, plain)
    assert_settings_kept(settings, student.global_settings())


def _check_narrow_types(student: Any, case: AttentionCase, plain: Tensor) -> None:
    """The output for float32 and bfloat16 is about that for float64, and has their dtype."""
    # Measured: right answers are off by up to 0.04 of the largest entry in bfloat16.
    largest = plain.abs().max().item()
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.2)):
        subject = f"output for {str(dtype).removeprefix('torch.')} input"
        low = [tensor.to(dtype) for tensor in case.inputs]
        try:
            output = student.tiled_attention(*low, case.mask, 4)
        except StudentError as error:
            # Code that computes in float32 throughout need not know other types.
            if case.query.dtype is torch.float32:
                return
            raise Mismatch(f"For {dtype} input your code raises {error}") from None
        assert_dtype(output, dtype, subject)
        atol = tolerance * largest
        assert_matches(output, plain, subject, axes=AXES, rtol=tolerance, atol=atol)


@check(points=0, inputs=tiled_cases(masked=True), examples=1)
def test_keeps_float64(student: Any, case: AttentionCase) -> None:
    """In float64 the output has the accuracy of float64.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    output = student.tiled_attention(*case.inputs, case.mask, 4)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)


@check(points=0, inputs=tiled_cases(masked=True), examples=1)
@either_precision
def test_masks_hold_for_scores_of_any_size(student: Any, case: AttentionCase) -> None:
    """A mask holds for scores of a million, too.

    Sees a fill such as -1e4 or -1e6, which such scores outweigh. It carries no points: scores of
    this size do not come up where queries and keys are healthy.
    """
    assert_mask_holds(Weighing(student, 3), case, 1e6)


@check(points=0, inputs=tiled_cases(masked=True), examples=1)
@either_precision
def test_gradients_of_a_row_without_keys_stay_finite(student: Any, case: AttentionCase) -> None:
    """A query with nothing to attend to gives no NaN in the gradients either.

    Sees a NaN that is put right at the end, but comes back in the backward pass. It carries no
    points, but training would fail.
    """
    inputs = [tensor.clone().requires_grad_() for tensor in case.inputs]
    output = student.tiled_attention(*inputs, case.empty_rows, 4)
    for name, result in zip(
        ("query", "key", "value"), gradients(output, inputs, case.cotangent), strict=True
    ):
        if result is not None:
            assert_finite(result, f"gradient of `{name}`")
