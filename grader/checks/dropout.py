"""Hidden checks of `dropout`: inverted dropout (Srivastava et al. 2014)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_drops,
    assert_gradients,
    assert_not_edited,
    assert_refuses,
    gradients,
    matches,
)
from grader.checks.framework.inputs import Numbers, random_numbers, transposed
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape
from grader.remote.proxy import RemoteModule

AXES = ("batch", "length", "feature")
# Enough numbers for seven standard deviations of the share of zeros to be at most 4 %.
SHAPE = (6, 16, 80)
PROBABILITIES = (0.1, 0.2, 0.35, 0.6, 0.8)


def nonzero(numbers: Numbers, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return numbers none of which is zero or close to it. (batch, length, feature)"""
    x = numbers.normal("x", *SHAPE)
    return (x + x.sign()).to(dtype)


def assert_drops_some(module: RemoteModule, x: Tensor, p: float) -> Tensor:
    """Assert that in training mode some numbers become zero, different ones in each call.

    No lazy answer does that. Neither their share nor the factor of the others is checked here.
    Returns the output.
    """
    output: Tensor = module(x)
    again = module(x)
    for result in (output, again):
        assert_shape(result, dict(zip(AXES, x.shape, strict=True)))
    zeros = output == 0
    if zeros.all() or not zeros.any():
        amount = "all" if zeros.all() else "none"
        raise Mismatch(f"With p={p}, {amount} of your numbers are zero in training mode.")
    if (zeros == (again == 0)).all():
        raise Mismatch("Two calls in training mode drop the same numbers.")
    ratio = (output.double() / x.double())[~zeros]
    if ratio.max().item() - ratio.min().item() > 0.05 * ratio.abs().max().item():
        raise Mismatch("Not all of the numbers that you keep grow by the same factor.")
    return output


@check(points=1, inputs=(st.sampled_from(PROBABILITIES), random_numbers()), examples=3)
def test_drops_and_makes_up_for_it(student: Any, p: float, numbers: Numbers) -> None:
    """During training, each number is zero with probability p, or else divided by 1 - p.

    Sees a missing or wrong factor, the probability of keeping taken for that of dropping, one draw
    for a whole row, the same draw in every call or every module, and a default other than 0.5.
    """
    x = nonzero(numbers)
    for rate, module in (
        (p, student.Dropout(p)),
        (1 - p, student.Dropout(p=1 - p)),
        (0.5, student.Dropout()),
    ):
        assert_drops([module(x), module(x)], x, rate)
    if torch.equal(student.Dropout(p)(x), student.Dropout(p)(x)):
        raise Mismatch(
            "Two modules in training mode drop the same numbers.",
            help="Is a seed set, or a generator made, when a module is created?",
        )


@check(points=1, inputs=(st.sampled_from(PROBABILITIES), random_numbers()), examples=2)
def test_evaluation_changes_nothing(student: Any, p: float, numbers: Numbers) -> None:
    """In evaluation mode the numbers come out unchanged; back in training mode, some are dropped.

    Sees dropout that is always on, and numbers scaled down in evaluation. A wrong share or factor
    in training passes: it costs points in another check.
    """
    x = nonzero(numbers)
    module = student.Dropout(p)
    assert_drops_some(module, x, p)
    module.eval()
    for _ in range(2):
        assert_matches(module(x), x, "output in evaluation mode", axes=AXES)
    assert_drops_some(module.train(), x, p)


@check(points=1, inputs=random_numbers(), examples=2)
def test_the_ends_of_the_range(student: Any, numbers: Numbers) -> None:
    """With p = 0 nothing is dropped, with p = 1 everything, and nothing is NaN.

    Sees the 0 / 0 of the formula for p = 1, in numbers or gradients, an error for an end of the
    range, and zeros for p = 1 in evaluation too.
    """
    x = nonzero(numbers)[:2, :3, :5]
    zeros = torch.zeros_like(x)
    for keeps_all, drops_all in (
        (student.Dropout(0.0), student.Dropout(1.0)),
        (student.Dropout(p=0), student.Dropout(p=1)),
    ):
        assert_matches(keeps_all(x), x, "output for p=0 in training mode", axes=AXES)
        assert_matches(drops_all(x), zeros, "output for p=1 in training mode", axes=AXES)
    # Dropout that is always on costs points in the check of evaluation mode.
    if matches(student.Dropout(0.5).eval()(x), x):
        evaluated = student.Dropout(1.0).eval()(x)
        assert_matches(evaluated, x, "output for p=1 in evaluation mode", axes=AXES)
    leaf = x.clone().requires_grad_()
    output = student.Dropout(1.0)(leaf)
    if isinstance(output, Tensor) and output.requires_grad:
        (result,) = gradients(output, [leaf], torch.ones_like(x))
        assert_gradients([result], [zeros], ["x"])


@check(points=1, inputs=(st.floats(0.01, 3.0), random_numbers()), examples=2)
def test_refuses_what_is_no_probability(student: Any, beyond: float, numbers: Numbers) -> None:
    """A p below 0 or above 1 raises ValueError.

    Sees a range check that is missing or tests one end only.
    """
    x = nonzero(numbers)
    assert_drops_some(student.Dropout(0.4), x, 0.4)
    for p in (-0.5, 1.5, -beyond, 1 + beyond):
        reason = f"Dropout({p:.3g}): a probability lies between 0 and 1"
        assert_refuses(ValueError, partial(_used, student, p, x), reason)


def _used(student: Any, p: float, x: Tensor) -> Any:
    return student.Dropout(p)(x)


@check(points=1, inputs=(st.sampled_from(PROBABILITIES), random_numbers()), examples=2)
def test_works_on_any_input(student: Any, p: float, numbers: Numbers) -> None:
    """Any shape, memory layout and dtype works, gradients flow, and the input is not modified.

    Sees zeros and ones whose dtype the product takes on, in-place changes, a detached graph, and
    random numbers that are kept for tensors of the first shape.
    """
    settings = student.global_settings()
    x = nonzero(numbers)
    module = student.Dropout(p)
    assert_drops_some(module, x, p)
    for reshaped in (x[0], x[0, :, :5], x[..., None]):
        assert_shape(
            module(reshaped), tuple(reshaped.shape), f"output for shape {tuple(reshaped.shape)}"
        )
    view = transposed(x)
    for mode in (True, False):
        result, after = module.train(mode).echo(view)
        assert_shape(result, dict(zip(AXES, x.shape, strict=True)))
        assert_not_edited([view], after, ["x"])

    leaf = x.clone().requires_grad_()
    cotangent = numbers.normal("cotangent", *SHAPE, dtype=torch.float32)
    output = module.train()(leaf)
    (gradient,) = gradients(output, [leaf], cotangent)
    # Whatever was drawn, a number and its gradient have the same factor.
    assert_gradients([gradient], [cotangent * output.detach() / x], ["x"])

    twin = module.copy()
    for dtype in (torch.float64, torch.bfloat16):
        output = assert_drops_some(twin.to(dtype), x.to(dtype), p)
        if dtype is torch.bfloat16:  # float64 may come back as float32
            assert_dtype(output, dtype, f"output for {dtype} input")
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=(st.sampled_from(PROBABILITIES), random_numbers()), examples=1)
def test_keeps_float64(student: Any, p: float, numbers: Numbers) -> None:
    """Numbers in float64 keep their accuracy.

    Sees a product in float32. It carries no points: float32 is accurate enough here.
    """
    x = nonzero(numbers, torch.float64)
    output = student.Dropout(p).to(torch.float64)(x)
    if isinstance(output, Tensor) and output.shape == x.shape:
        kept = torch.where(output == 0, 0.0, x)
        factor = output.double().sum() / kept.sum()
        assert_matches(output, kept * factor, axes=AXES, rtol=1e-9)
