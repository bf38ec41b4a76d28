"""Hidden checks of `linear`: y = xWᵀ + b."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_gradients,
    assert_not_edited,
    assert_registers,
    gradients,
    matches,
    pull_back,
)
from grader.checks.framework.inputs import (
    Numbers,
    distinct_sizes,
    inputs,
    random_numbers,
    transposed,
)
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape

AXES = ("batch", "length", "feature")
# Of that many numbers drawn uniformly within ±1, the largest is below 0.9 once in 10^22 times, and
# the share of any half is off by more than seven standard deviations once in 10^11 times.
DRAWN = 1000


@dataclass(frozen=True)
class LinearCase:
    """Tokens, and the parameters of a map that changes their width."""

    x: Tensor
    weight: Tensor
    bias: Tensor
    numbers: Numbers

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of input features and of output features."""
        return self.weight.size(1), self.weight.size(0)

    @property
    def weights(self) -> dict[str, Tensor]:
        """The parameters by name."""
        return {"weight": self.weight, "bias": self.bias}

    @cached_property
    def output(self) -> Tensor:
        """What torch's function returns. (batch, length, out_features)"""
        return F.linear(self.x, self.weight, self.bias)

    @cached_property
    def product(self) -> Tensor:
        """What torch's function returns without the bias. (batch, length, out_features)"""
        return F.linear(self.x, self.weight)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.output.shape)

    @cached_property
    def torch_gradients(self) -> tuple[Tensor, ...]:
        """The gradients of torch's function with regard to x, weight and bias."""
        leaves = [leaf.clone().requires_grad_() for leaf in (self.x, self.weight, self.bias)]
        return pull_back(F.linear(*leaves), leaves, self.cotangent)


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> LinearCase:
    """Draw a case in float64 whose batch, length and two widths are all different."""
    batch, length, wide, narrow = draw(distinct_sizes(4))
    return LinearCase(
        x=numbers.normal("x", batch, length, wide),
        weight=numbers.normal("weight", narrow, wide),
        bias=numbers.normal("bias", narrow) + 1.0,
        numbers=numbers,
    )


def assert_maps(student: Any, numbers: Numbers) -> None:
    """Assert that a square map depends on x and is proportional to its weights.

    No lazy answer is. A missing transpose and the bias pass.
    """
    x, weight = numbers.normal("three", 1, 4, 3), numbers.normal("square", 3, 3)
    zeros = torch.zeros(3)
    module = student.Linear(3, 3).to(torch.float64)
    output = module.load({"weight": weight, "bias": zeros})(x)
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)))
    doubled = module.load({"weight": 2 * weight, "bias": zeros})(x)
    assert_matches(doubled, 2 * output, "output with weights twice as large", axes=AXES)
    if (output - output[:, :1]).abs().max().item() < 1e-3:
        raise Mismatch("Your output is the same for all tokens.")


@check(points=1, inputs=cases(), examples=3)
def test_agrees_with_torch(student: Any, case: LinearCase) -> None:
    """The output is that of nn.Linear with the same weight and bias, for any number of axes.

    Sees a weight stored the other way round, a missing transpose or bias, and axes counted from the
    front.
    """
    module = student.Linear(*case.sizes).to(torch.float64)
    shapes = {name: tuple(value.shape) for name, value in case.weights.items()}
    assert_registers(module, shapes, "Linear")
    module.load(case.weights)
    assert_matches(module(case.x), case.output, axes=AXES)
    for x, expected in (
        (case.x[0, 1], case.output[0, 1]),
        (case.x[0], case.output[0]),
        (case.x[None], case.output[None]),
    ):
        assert_matches(module(x), expected, f"output for an input of shape {tuple(x.shape)}")


@check(points=1, inputs=cases(), examples=2)
def test_the_bias_can_be_left_out(student: Any, case: LinearCase) -> None:
    """With bias=False nothing is added, `bias` is None, and `weight` is the only parameter.

    Sees an ignored argument, a bias of zeros, and a missing attribute.
    """
    module = student.Linear(*case.sizes, bias=False).to(torch.float64)
    assert_registers(module, {"weight": tuple(case.weight.shape)}, "Linear(…, bias=False)")
    result = module.load({"weight": case.weight})(case.x)
    if not matches(result, case.product):
        # A mistake in the product costs points in another check.
        whole = student.Linear(*case.sizes).to(torch.float64)
        whole.load({**case.weights, "bias": torch.zeros_like(case.bias)})
        assert_maps(student, case.numbers)
        assert_matches(result, whole(case.x), "output without a bias", axes=AXES)
    if module.bias.get() is not None:
        raise Mismatch("With bias=False, the attribute `bias` should be None.")


@check(points=1, inputs=(st.integers(5, 30), random_numbers()), examples=2)
def test_starts_as_torch_does(student: Any, in_features: int, numbers: Numbers) -> None:
    """Weight and bias start uniformly distributed within ±1/√in_features.

    Sees numbers that nobody filled in, zeros, a normal distribution, and a bound made from both
    sizes or from the wrong one. A wrong product passes: it costs points in another check.
    """
    assert_maps(student, numbers)
    shapes = {"weight": (DRAWN, in_features), "bias": (DRAWN,)}
    first, second = (student.Linear(in_features, DRAWN).weights(shapes) for _ in range(2))
    for name, shape in shapes.items():
        assert_shape(first[name], shape, f"`{name}`")
        _assert_uniform(first[name], 1 / math.sqrt(in_features), name, in_features)
        if torch.equal(first[name], second[name]):
            raise Mismatch(f"In two modules, `{name}` starts with the same numbers.")


def _assert_uniform(value: Tensor, bound: float, name: str, in_features: int) -> None:
    value = value.double() / bound
    low, high = value.min().item(), value.max().item()
    opening = f"With in_features={in_features}, `{name}` starts "
    if not value.isfinite().all():
        raise Mismatch(f"{opening}with NaN or infinity. Where does your code fill it?")
    if not (-1.0001 < low < -0.9 and 0.9 < high < 1.0001):
        least, most = f"{low * bound + 0.0:.3g}", f"{high * bound + 0.0:.3g}"
        drawn = f"between {least} and {most}" if least != most else f"at {least} everywhere"
        raise Mismatch(
            f"{opening}{drawn}; "
            f"it should start between -{bound:.3g} and {bound:.3g} and come close to both."
        )
    limit = 7 * 0.5 / math.sqrt(value.numel())
    halves = {"positive": value > 0, "in the inner half of the range": value.abs() < 0.5}
    for words, chosen in halves.items():
        share = chosen.double().mean().item()
        if abs(share - 0.5) > limit:
            raise Mismatch(f"{opening}with {share:.0%} of the numbers {words}, not about 50%.")


@check(points=1, inputs=cases(), examples=2)
def test_gradients_agree_with_torch(student: Any, case: LinearCase) -> None:
    """Gradients flow back to x, weight and bias as they do through nn.Linear.

    Sees weights used as .data or detached, which no value shows.
    """
    x = case.x.clone().requires_grad_()
    weights = {name: value.clone().requires_grad_() for name, value in case.weights.items()}
    module = student.Linear(*case.sizes).to(torch.float64).load(weights)
    result = gradients(module(x), [x, *weights.values()], case.cotangent)
    assert_gradients(result, case.torch_gradients, ["x", *weights])


@check(points=1, inputs=cases(), examples=2)
def test_works_on_any_input(student: Any, case: LinearCase) -> None:
    """Any memory layout and dtype works, copies work, and the input is not modified.

    Sees `view` on a tensor that is not contiguous, a weight that keeps its own dtype, in-place
    changes, and changed global settings of torch.
    """
    settings = student.global_settings()
    assert_maps(student, case.numbers)
    module = student.Linear(*case.sizes).to(torch.float64).load(case.weights)
    output = module(case.x)
    assert_shape(output, dict(zip(AXES, case.output.shape, strict=True)))
    x = transposed(case.x)
    result, after = module.echo(x)
    assert_matches(result, output, "output for x that is not contiguous", axes=AXES)
    assert_not_edited([x], after, ["x"])
    assert_matches(module.copy()(case.x), output, "output of a deep copy", axes=AXES)
    # In bfloat16 a sum of nine products of numbers up to 4 is off by up to 0.2.
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.5)):
        low = module.to(dtype)(case.x.to(dtype))
        subject = f"output for {dtype} input"
        assert_dtype(low, dtype, subject)
        assert_matches(low, output, subject, axes=AXES, rtol=tolerance, atol=tolerance)
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: LinearCase) -> None:
    """Tokens in float64 are mapped in float64.

    Sees a product in float32. It carries no points: float32 is accurate enough here.
    """
    module = student.Linear(*case.sizes).to(torch.float64).load(case.weights)
    output = module(case.x)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)
