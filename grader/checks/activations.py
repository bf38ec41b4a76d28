"""Hidden checks of `activations`: ReLU, tanh and both forms of GELU (Hendrycks and Gimpel 2016)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_not_edited,
    assert_refuses,
    gradients,
    matches,
    pull_back,
)
from grader.checks.framework.inputs import Numbers, random_numbers, transposed
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_shape,
)
from grader.feedback.mismatch import NoGradient

AXES = ("batch", "length", "feature")
SHAPE = (3, 4, 10)
# e^89 and 1e13 cubed are infinite in float32, e^710 in float64.
SIZES = (20.0, 100.0, 1e3, 1e10, 1e30)
# Where torch's own tanh form of GELU has finite gradients.
MODERATE_SIZES = (20.0, 100.0, 1e3, 1e4)


@dataclass(frozen=True)
class Function:
    """One of the student's functions, and torch's. `keywords` go to both."""

    name: str
    entry: str
    torch_function: Callable[..., Tensor]
    keywords: tuple[tuple[str, str], ...] = ()

    def expected(self, x: Tensor) -> Tensor:
        """What torch's function returns."""
        return self.torch_function(x, **dict(self.keywords))

    def of(self, student: Any) -> Callable[[Tensor], Any]:
        """The student's function, to be called with a tensor."""
        return partial(getattr(student, self.entry), **dict(self.keywords))


RELU = Function("relu", "relu", torch.relu)
TANH = Function("tanh", "tanh", torch.tanh)
GELU = Function("gelu", "gelu", F.gelu)
GELU_TANH = Function(
    'gelu with approximate="tanh"', "gelu", F.gelu, keywords=(("approximate", "tanh"),)
)
FUNCTIONS = (RELU, TANH, GELU, GELU_TANH)
_CUBED = (
    "The cube of 1e20 is infinite in float32, while the slope of tanh is zero there; zero times "
    "infinity is NaN. Beyond ±10 tanh is ±1 to the last digit: is x bounded before it is cubed?"
)


def spread(numbers: Numbers) -> Tensor:
    """Return numbers spread over -4 to 4, none within 0.01 of zero. (batch, length, feature)

    The two forms of GELU differ by 4.7e-4 between 2 and 3, where the usual tolerance is 1.4e-4.
    """
    count = SHAPE[0] * SHAPE[1] * SHAPE[2]
    steps = torch.linspace(-4, 4, count, dtype=torch.float64)
    jitter = 0.02 * numbers.normal("jitter", count).tanh()
    order = torch.randperm(count, generator=numbers.generator("order"))
    return (steps + jitter)[order].reshape(SHAPE)


def extremes(size: float) -> Tensor:
    """Return numbers of this size, positive and negative, in float32. (number,)"""
    return torch.tensor([size, -size, 0.7 * size, -0.7 * size])


def assert_agrees(student: Any, function: Function, numbers: Numbers) -> None:
    """Assert that the student's function is torch's, near zero and far from it."""
    call = function.of(student)
    x = spread(numbers)
    assert_matches(call(x), function.expected(x), function.name, axes=AXES)
    for size in SIZES:
        x = extremes(size)
        subject = f"{function.name} of numbers as large as {size:g}"
        help = "Which part of your formula overflows there?"
        assert_matches(call(x), function.expected(x), subject, help=help)


def assert_non_linear(x: Tensor, output: Any, again: Any, name: str) -> None:
    """Assert that the output depends on x alone and is neither a multiple of x nor constant.

    No lazy answer passes.
    """
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)), name)
    assert_matches(again, output, name, axes=AXES, sides=("second call", "first call"))
    assert_finite(output, name, axes=AXES)
    slopes = output.double() / x
    if (slopes.amax() - slopes.amin()).item() < 1e-3:
        raise Mismatch(f"Your {name} is x times a constant: it has no non-linearity.")
    if (output - output.flatten()[0]).abs().max().item() < 1e-3:
        raise Mismatch(f"Your {name} gives the same result for all numbers.")


@check(points=0.5, inputs=random_numbers(), examples=2)
def test_relu(student: Any, numbers: Numbers) -> None:
    """relu(x) is x above zero and 0 below.

    Sees the smaller of two numbers taken for the larger, an absolute value, a slope on the left.
    """
    assert_agrees(student, RELU, numbers)


@check(points=1, inputs=random_numbers(), examples=2)
def test_tanh(student: Any, numbers: Numbers) -> None:
    """tanh(x) is right for every number, and -1 or 1 far from zero.

    Sees the formula computed as it is written, which is infinity over infinity from 89 on, a
    sigmoid that was not rescaled, and a missing factor of two.
    """
    assert_agrees(student, TANH, numbers)


@check(points=1, inputs=random_numbers(), examples=2)
def test_gelu(student: Any, numbers: Numbers) -> None:
    """By default gelu(x) is x Φ(x) in the exact form, for every number.

    Sees the approximation in place of the exact form, which differs by 0.0005, and an erf whose
    argument is not divided by √2.
    """
    assert_agrees(student, GELU, numbers)
    x = spread(numbers)
    named = student.gelu(x, approximate="none")
    assert_matches(named, GELU.expected(x), 'gelu with approximate="none"', axes=AXES)


@check(points=1, inputs=random_numbers(), examples=2)
def test_gelu_by_tanh(student: Any, numbers: Numbers) -> None:
    """With approximate="tanh", gelu is the form with tanh; any other value is a ValueError.

    Sees an ignored argument, √(2π) for √(2/π), a slip in the constant or in the power, a tanh that
    overflows where x³ does, and an unknown form that is accepted.
    """
    assert_agrees(student, GELU_TANH, numbers)
    x = spread(numbers)
    positional = student.gelu(x, "tanh")
    assert_matches(positional, GELU_TANH.expected(x), 'gelu(x, "tanh")', axes=AXES)
    for name in ("sigmoid", "Tanh", "erf", "", "none at all"):
        reason = f"gelu has no form called {name!r}"
        assert_refuses(ValueError, partial(student.gelu, x, approximate=name), reason)


@check(points=1, inputs=random_numbers(), examples=2)
def test_gradients(student: Any, numbers: Numbers) -> None:
    """The gradients are torch's, and finite for large numbers.

    Sees an infinite gradient times zero in a branch that `where` does not take, a clamp with too
    narrow a range, and a detached graph. The two forms of GELU may be mixed up: that costs points
    in other checks.
    """
    for function in FUNCTIONS:
        for x in (spread(numbers), *(extremes(size) for size in MODERATE_SIZES)):
            leaf, own = (x.clone().requires_grad_() for _ in range(2))
            cotangent = 2.0 + numbers.normal("cotangent", *x.shape, dtype=x.dtype).tanh()
            expected = pull_back(function.expected(own), [own], cotangent)[0]
            (result,) = gradients(function.of(student)(leaf), [leaf], cotangent)
            if result is None:
                raise NoGradient(f"No gradient flows back through your {function.name}.")
            subject = f"slope of {function.name} for numbers up to {x.abs().max().item():.3g}"
            slopes = result / cotangent, expected / cotangent
            assert_matches(*slopes, subject, rtol=1e-2, atol=1e-2)


@check(points=0.5, inputs=random_numbers(), examples=2)
def test_works_on_any_input(student: Any, numbers: Numbers) -> None:
    """Any shape, memory layout and dtype works, and the input is not modified.

    Sees in-place changes, a constant whose dtype the result takes on, and changed global settings
    of torch. Wrong numbers pass: they cost points in other checks.
    """
    settings = student.global_settings()
    for function in FUNCTIONS:
        call, name = function.of(student), function.name
        x = spread(numbers)
        output = call(x)
        assert_non_linear(x, output, call(x), name)
        for reshaped, expected in ((x[0, 0, 0], output[0, 0, 0]), (x[None], output[None])):
            subject = f"{name} for an input of shape {tuple(reshaped.shape)}"
            assert_matches(call(reshaped), expected, subject)
        view = transposed(x)
        result, after = _echo(student, function, view)
        assert_matches(result, output, f"{name} of x that is not contiguous", axes=AXES)
        assert_not_edited([view], after, ["x"])
        # In bfloat16, right code is off by up to 0.03 for numbers up to 4.
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.1)):
            low = call(x.to(dtype))
            assert_dtype(low, dtype, f"{name} for {dtype} input")
            assert_matches(
                low, output, f"{name} for {dtype} input", axes=AXES, rtol=tolerance, atol=tolerance
            )
    assert_settings_kept(settings, student.global_settings())


def _echo(student: Any, function: Function, x: Tensor) -> tuple[Any, list[Any]]:
    """Return the value, and x as the call left it."""
    approximate = [value for _, value in function.keywords]
    value, after = getattr(student, function.entry).echo(x, *approximate)
    return value, after[:1]


@check(points=0)
def test_gradients_at_zero_and_far_away(student: Any) -> None:
    """The slope of tanh at 0 is 1, and no gradient is NaN, even where x³ is infinite.

    Sees a sign and an absolute value, whose slopes at 0 are 0. It carries no points: torch's own
    GELU with tanh gives NaN at 1e20.
    """
    zero = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    (slope,) = gradients(student.tanh(zero), [zero], torch.ones(3))
    if slope is None or not matches(slope, torch.ones(3)):
        raise Mismatch(
            "The gradient of your tanh at 0 is not 1. Is a step of yours flat there, as `abs` and "
            "`sign` are?"
        )
    for function in FUNCTIONS:
        x = extremes(1e20).requires_grad_()
        (result,) = gradients(function.of(student)(x), [x], torch.ones_like(x))
        help = _CUBED if function is GELU_TANH else ""
        assert_finite(result, f"gradient of {function.name} at 1e20", help=help)


@check(points=0, inputs=random_numbers(), examples=1)
def test_keeps_float64(student: Any, numbers: Numbers) -> None:
    """Numbers in float64 are computed in float64.

    Sees a computation in float32. It carries no points: float32 is accurate enough here.
    """
    x = spread(numbers)
    for function in FUNCTIONS:
        output, expected = function.of(student)(x), function.expected(x)
        if matches(output, expected):
            assert_matches(output, expected, function.name, axes=AXES, rtol=1e-9, atol=1e-9)
