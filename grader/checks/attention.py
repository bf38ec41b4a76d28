"""Hidden checks of `attention`: scaled dot products (Vaswani et al. 2017, section 3.2.1)."""

from __future__ import annotations

from typing import Any

import torch

from grader.checks.attention_cases import (
    AXES,
    WEIGHT_AXES,
    AttentionCase,
    assert_follow_the_scores,
    assert_hidden,
    assert_mask_holds,
    attend,
    cases,
)
from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_changes,
    assert_gradients,
    assert_not_edited,
    gradients,
    matches,
    parts,
)
from grader.checks.framework.inputs import transposed
from grader.checks.framework.precision import either_precision
from grader.feedback.comparison import (
    Mismatch,
    assert_finite,
    assert_matches,
    assert_shape,
)
from grader.remote.session import StudentError
from grader.remote.wire import Affine


@check(points=3, inputs=cases(), examples=4)
@either_precision
def test_agrees_with_torch(student: Any, case: AttentionCase) -> None:
    """The output is softmax(QKᵀ/√d_k)V.

    Sees what shapes and sums cannot: a missing or wrong scale, a softmax over another axis, keys
    and values mixed up.
    """
    output, _ = attend(student, *case.inputs)
    assert_matches(output, case.output, axes=AXES)
    square = case.square
    output, _ = attend(student, *square.inputs)
    assert_matches(output, square.output, "output for as many queries as keys", axes=AXES)


@check(points=2, inputs=cases(), examples=5)
@either_precision
def test_weights_follow_the_scores(student: Any, case: AttentionCase) -> None:
    """The weights of every query sum to one over the keys, and a larger score gets a larger weight.

    Sees a softmax over queries or heads, and scores returned as weights. A wrong scale passes: it
    costs points in another check.
    """
    _, weights = attend(student, *case.inputs)
    assert_follow_the_scores(weights, case.weights)


@check(points=2, inputs=cases(), examples=2)
@either_precision
def test_masked_positions_get_nothing(student: Any, case: AttentionCase) -> None:
    """A key where the mask is False gets a weight of exactly zero; the other weights sum to one.

    Sees a mask that is read the wrong way round, ignored, added as 0 and 1, or applied after the
    softmax, and a mask of one shape that is taken for another.
    """
    for mask in case.masks:
        _, weights = attend(student, *case.inputs, mask)
        assert_follow_the_scores(weights, case.weights_under(mask), mask)
        assert_hidden(weights, mask)


@check(points=1, inputs=cases("padding"), examples=3)
@either_precision
def test_hidden_keys_have_no_say(student: Any, case: AttentionCase) -> None:
    """A hidden key does not affect the output; a visible key does.

    Sees an output made from weights other than those returned, and a share of the softmax that goes
    to hidden keys.
    """
    output, _ = attend(student, *case.inputs, case.mask)
    key, value = (
        torch.where(case.hidden_keys, other, tensor)
        for other, tensor in zip(case.others, (case.key, case.value), strict=True)
    )
    same, _ = attend(student, case.query, key, value, case.mask)
    assert_shape(output, tuple(case.output.shape))
    # Masking after the softmax and normalising with an eps such as 1e-8 is off by up to 1e-5.
    subject = "output with other hidden keys"
    assert_matches(
        same, output, subject, axes=AXES, rtol=1e-3, atol=1e-3, sides=("with", "without")
    )
    visible = torch.where(case.hidden_keys, case.key, case.others[0])
    moved, _ = attend(student, case.query, visible, case.value, case.mask)
    assert_changes(moved, output, "Your output stays the same when the visible keys change.")


@check(points=1, inputs=cases("any"), examples=3)
@either_precision
def test_masks_hold_for_large_scores(student: Any, case: AttentionCase) -> None:
    """A mask holds for scores as large as a thousand, and such scores give no NaN.

    Sees a fill such as -100 or -1e3, which a large score outweighs, and a softmax written without
    subtracting the maximum first, or with the maximum of all rows instead of each row's own.
    """
    assert_mask_holds(student, case, 1000.0)


@check(points=1, inputs=cases("any"), examples=3)
@either_precision
def test_a_row_without_keys_stays_finite(student: Any, case: AttentionCase) -> None:
    """A query that may attend to nothing gets finite numbers, and other queries are unaffected.

    Sees the NaN of a softmax over a row of -inf.
    """
    output, weights = attend(student, *case.inputs, case.empty_rows)
    assert_finite(output, axes=AXES)
    assert_finite(weights, "weights", axes=WEIGHT_AXES)
    assert_follow_the_scores(weights[:, :, 1:], case.weights[:, :, 1:], case.empty_rows[:, :, 1:])


@check(points=2, inputs=cases("any"), examples=3)
@either_precision
def test_gradients_agree_with_torch(student: Any, case: AttentionCase) -> None:
    """Gradients flow back to query, key and value as they do through torch's function.

    Sees a `detach`, a `.data`, a `torch.no_grad()`, which no value shows.
    """
    inputs = [tensor.clone().requires_grad_() for tensor in case.inputs]
    output, _ = attend(student, *inputs, case.mask)
    result = gradients(output, inputs, case.cotangent)
    assert_gradients(result, case.gradients, ("query", "key", "value"))


@check(points=1, inputs=cases(), examples=3)
@either_precision
def test_dropout_acts_on_the_weights(student: Any, case: AttentionCase) -> None:
    """`dropout` is applied to the weights, before they multiply the values.

    Sees a dropout that is never called, is called on the scores or the output, or not together with
    a mask.
    """
    _, plain = attend(student, *case.inputs)
    assert_follow_the_scores(plain, case.weights)
    # A stand-in that acts on every number alike, since the weights may come to it in any shape.
    stand_in = Affine(0.5, 0.25)
    output, weights = attend(student, *case.inputs, None, stand_in)
    dropped = stand_in(plain)
    assert_matches(output, dropped.double() @ case.exact[2], axes=AXES)
    assert_shape(weights, tuple(plain.shape), "weights")
    if not torch.allclose(weights.double(), plain.double(), rtol=1e-4, atol=1e-6):
        assert_matches(weights, dropped, "weights", axes=WEIGHT_AXES)
    # Without a shift, which a hidden weight of 0 need not get.
    mask, half = case.masks[0], Affine(0.5, 0.0)
    masked, _ = attend(student, *case.inputs, mask)
    output, _ = attend(student, *case.inputs, mask, half)
    assert_shape(masked, tuple(case.output.shape))
    assert_matches(output, half(masked), "output with a mask and dropout", axes=AXES)


@check(points=1, inputs=cases(), examples=2)
@either_precision
def test_takes_any_leading_axes(student: Any, case: AttentionCase) -> None:
    """Any number of leading axes works, even none, and any axis may have size 1.

    Sees sizes taken from fixed axes, code written for four axes only, with a mask or without, and a
    `squeeze` that removes too much.
    """
    output, weights = attend(student, *case.inputs)
    assert_follow_the_scores(weights, case.weights)
    assert_shape(output, tuple(case.output.shape))
    for index, subject, sides in (
        ((0, 0), "without batch and heads", ("alone", "in the batch")),
        ((0,), "without heads", ("alone", "in the batch")),
        (None, "with one more axis in front", ("with", "without")),
    ):
        part, _ = attend(student, *(tensor[index] for tensor in case.inputs))
        assert_matches(part, output[index], f"output {subject}", sides=sides)
    mask = case.masks[2]
    masked, _ = attend(student, *case.inputs, mask)
    alone, _ = attend(student, *(tensor[0, 0] for tensor in case.inputs), mask)
    assert_shape(masked, tuple(case.output.shape))
    subject = f"output without batch and heads, with a mask of shape {tuple(mask.shape)}"
    assert_matches(alone, masked[0, 0], subject, sides=("alone", "in the batch"))
    first = [tensor[:1, :1, :1] for tensor in case.inputs]
    single, weight = attend(student, *first)
    assert_matches(single, first[2], "output for a single query and a single key", axes=AXES)
    assert_matches(weight, torch.ones(1, 1, 1, 1), "weight of a single key", axes=WEIGHT_AXES)


@check(points=1, inputs=cases("any"), examples=2)
@either_precision
def test_takes_tensors_as_they_come(student: Any, case: AttentionCase) -> None:
    """Any memory layout and floating dtype works, and no input is modified.

    Sees `view` on a tensor that is not contiguous, in-place changes, tensors of a fixed dtype,
    zeros taken for padding, and changed global settings of torch.
    """
    settings = student.global_settings()
    plain, weights = attend(student, *case.inputs, case.mask)
    assert_follow_the_scores(weights, case.weights, case.mask)
    assert_shape(plain, tuple(case.output.shape))

    arguments = [transposed(tensor) for tensor in case.inputs]
    reply, after = student.attention.echo(*arguments, case.mask)
    output, _ = parts(reply, ("output", "weights"), "attention")
    assert_matches(output, plain, axes=AXES)
    names = ("query", "key", "value", "mask")
    assert case.mask is not None
    assert_not_edited([*arguments, case.mask], after, names)

    _check_zeros(student, case)
    _check_narrow_types(student, case)
    if student.global_settings() != settings:
        raise Mismatch("Your code changes a global setting of torch.")


def _check_zeros(student: Any, case: AttentionCase) -> None:
    """Assert that a query and a key of zeros are treated as any others, with and without a mask."""
    query, key, value = (tensor.clone() for tensor in case.inputs)
    query[:, :, 0], key[:, :, 0] = 0.0, 0.0
    _, weights = attend(student, query, key, value)
    assert_shape(weights, dict(zip(WEIGHT_AXES, case.weights.shape, strict=True)), "weights")
    for subject, given in (("key", weights[..., 0]), ("query", weights[..., 0, :].sum(-1))):
        if (given == 0).any():
            raise Mismatch(
                f"Without a mask, the weights of a {subject} of zeros are zero.",
                help="Zeros are numbers like any others. Which argument says what is padding?",
            )
    mask = torch.ones(1, 1, 1, key.size(-2), dtype=torch.bool)
    mask[..., 1:2] = False
    _, weights = attend(student, query, key, value, mask)
    assert_matches(
        weights[:, :, 0],
        (mask / mask.sum())[:, :, 0].expand_as(weights[:, :, 0]),
        "weights of a query of zeros, under a mask that hides key 1,",
        axes=("batch", "head", "key"),
        help="All its scores are 0. Which keys does your code hide: those that the mask hides, or "
        "those whose score is 0?",
    )


def _check_narrow_types(student: Any, case: AttentionCase) -> None:
    """Assert that the output for float32 and bfloat16 is about that for float64, without a mask."""
    plain, _ = attend(student, *case.inputs)
    # Measured over 300 seeds, as |yours - expected| / (1 + |expected|): right answers are off by up
    # to 5e-7 and 3e-2; the values are judged elsewhere, here only what is grossly wrong.
    for dtype, tolerance in ((torch.float32, 2e-5), (torch.bfloat16, 2e-1)):
        dtype_name = str(dtype).removeprefix("torch.")
        low = [tensor.to(dtype) for tensor in case.inputs]
        try:
            output, _ = attend(student, *low)
        except StudentError as error:
            # Code that computes in float32 throughout need not know other types.
            if case.query.dtype is torch.float32:
                return
            raise Mismatch(f"For {dtype_name} input your code raises {error}") from None
        text = f"output for {dtype_name} input"
        assert_matches(output, plain, text, axes=AXES, rtol=tolerance, atol=tolerance)


@check(points=0, inputs=cases("any"), examples=1)
def test_keeps_float64(student: Any, case: AttentionCase) -> None:
    """In float64 the output has the accuracy of float64.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    output, _ = attend(student, *case.inputs, case.mask)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)


@check(points=0, inputs=cases("any"), examples=1)
@either_precision
def test_masks_hold_for_scores_of_any_size(student: Any, case: AttentionCase) -> None:
    """A mask holds for scores as large as a million too.

    Sees a fill such as -1e4 or -1e6, which such scores outweigh. It carries no points: scores of
    this size don't occur with healthy queries and keys.
    """
    assert_mask_holds(student, case, 1e6)


@check(points=0, inputs=cases("any"), examples=1)
def test_masks_work_in_bfloat16(student: Any, case: AttentionCase) -> None:
    """A mask works in bfloat16 too, which is what large models are trained in.

    Sees a fill that bfloat16 cannot hold, and a mask turned into float32 numbers. It carries no
    points.
    """
    low = [tensor.bfloat16() for tensor in case.inputs]
    output, weights = attend(student, *low, case.mask)
    assert_finite(output, axes=AXES)
    assert_shape(weights, tuple(case.weights.shape), "weights")
    assert case.mask is not None
    assert_hidden(weights, case.mask)


@check(points=0, inputs=cases("any"), examples=1)
@either_precision
def test_gradients_of_a_row_without_keys_stay_finite(student: Any, case: AttentionCase) -> None:
    """A query that may attend to nothing gives no NaN in the gradients either.

    Sees a NaN that is removed after the softmax but comes back in the backward pass. It carries no
    points, but training would fail.
    """
    inputs = [tensor.clone().requires_grad_() for tensor in case.inputs]
    output, _ = attend(student, *inputs, case.empty_rows)
    for name, result in zip(
        ("query", "key", "value"), gradients(output, inputs, case.cotangent), strict=True
    ):
        if result is not None:
            assert_finite(result, f"gradient of `{name}`")
