"""Hidden checks of `rms_norm`: root mean square normalisation (Zhang and Sennrich 2019)."""

from __future__ import annotations

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
    assert_same_in_training,
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
from grader.remote.proxy import RemoteModule

AXES = ("batch", "length", "d_model")


@dataclass(frozen=True)
class RMSNormCase:
    """Tokens of root mean square 1 to 3, a scale for each feature, and what torch returns.

    The tokens have means of about their deviations, so that subtracting the mean shows, and are so
    large that the place of `eps` does not.
    """

    x: Tensor
    weight: Tensor
    numbers: Numbers

    @property
    def d_model(self) -> int:
        """How many features a token has."""
        return self.x.size(-1)

    @cached_property
    def normalised(self) -> Tensor:
        """What torch's function returns without a scale. (batch, length, d_model)"""
        return F.rms_norm(self.x, (self.d_model,), eps=1e-6)

    @cached_property
    def output(self) -> Tensor:
        """What torch's function returns. (batch, length, d_model)"""
        return F.rms_norm(self.x, (self.d_model,), self.weight, 1e-6)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.x.shape) + self.normalised + 1.0

    @cached_property
    def torch_gradients(self) -> tuple[Tensor, ...]:
        """The gradients of torch's function with regard to x and weight."""
        x, weight = (leaf.clone().requires_grad_() for leaf in (self.x, self.weight))
        return pull_back(F.rms_norm(x, (self.d_model,), weight, 1e-6), [x, weight], self.cotangent)


def make_case(numbers: Numbers, batch: int, length: int, d_model: int) -> RMSNormCase:
    """Tokens of these sizes in float64."""
    raw = numbers.normal("x", batch, length, d_model) + numbers.normal("mean", batch, length, 1)
    size = 2.0 + numbers.normal("size", batch, length, 1).tanh()
    return RMSNormCase(
        x=raw / raw.square().mean(-1, keepdim=True).sqrt() * size,
        weight=numbers.normal("weight", d_model) * 0.5 + 1.5,
        numbers=numbers,
    )


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> RMSNormCase:
    """Few features; batch, length and d_model all different."""
    batch, length, d_model = draw(distinct_sizes(3, low=3))
    return make_case(numbers, batch, length, d_model)


def double(student: Any, d_model: int) -> RemoteModule:
    """A new module in float64, in evaluation mode."""
    module: RemoteModule = student.RMSNorm(d_model).to(torch.float64).eval()
    return module


def assert_divides_by_the_size(student: Any, x: Tensor) -> None:
    """A new module undoes a factor that all of its input has in common, but for its sign.

    And it treats all features alike. No lazy answer does that; one that divides by another measure
    of size, or subtracts the mean, does.
    """
    module = student.RMSNorm(x.size(-1)).to(x.dtype).eval()
    output, larger, flipped = module(x), module(-3.0 * x), module(x.flip(-1))
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)))
    assert_matches(larger, -output, "output for -3x, beside minus that for x", axes=AXES, atol=2e-2)
    assert_matches(flipped, output.flip(-1), "output for x with its features flipped", axes=AXES)
    if (output.amax(-1) - output.amin(-1)).amax().item() < 0.5:
        raise Mismatch("Your output is the same for all features of a token.")


@check(points=1, inputs=cases(), examples=3)
def test_agrees_with_torch(student: Any, case: RMSNormCase) -> None:
    """The output is that of nn.RMSNorm with the same weight.

    Sees a mean that is subtracted, a sum of squares where their mean should be, a division by the
    mean square itself or by the mean absolute value.
    """
    module = double(student, case.d_model).load({"weight": case.weight})
    assert_matches(module(case.x), case.output, axes=AXES)
    single = double(student, 1).load({"weight": case.weight[:1]})
    expected = case.x[:2, :2, :1].sign() * case.weight[:1]
    assert_matches(single(case.x[:2, :2, :1] * 1e3), expected, "output for one feature", axes=AXES)


@check(points=1, inputs=cases(), examples=2)
def test_eps_stands_inside_the_root(student: Any, case: RMSNormCase) -> None:
    """Small inputs come out right, with `eps` inside the root, and zeros give zeros, not NaN.

    Sees `eps` added to the root, left out, fixed, or of another size, which numbers near one hide,
    and an `eps` of 0 taken for none.
    """
    # Measured: another place or size of eps is off by 5e-2 and more, float32 by 1e-6.
    for eps, scales, module in (
        (1e-6, (1e-2, 1e-3, 1e3), student.RMSNorm(case.d_model)),
        (0.02, (0.1,), student.RMSNorm(case.d_model, eps=0.02)),
        (0.5, (1.0,), student.RMSNorm(case.d_model, 0.5)),
        (0.0, (1e-5,), student.RMSNorm(case.d_model, eps=0.0)),
    ):
        module.to(torch.float64).eval()
        for scale in scales:
            x = case.x * scale
            expected = F.rms_norm(x, (case.d_model,), eps=eps)
            subject = f"output for inputs times {scale:g} and eps {eps:g}"
            assert_matches(module(x), expected, subject, axes=AXES, rtol=1e-2, atol=1e-3)
    zeros = torch.zeros_like(case.x)
    module = double(student, case.d_model)
    assert_matches(module(zeros), zeros, "output for a batch of zeros", axes=AXES)


@check(points=1, inputs=(st.integers(5, 9), random_numbers()), examples=2)
def test_each_token_stands_alone(student: Any, d_model: int, numbers: Numbers) -> None:
    """Every token keeps its direction, and comes out the same alone as in its batch.

    Sees a mean square taken along the batch, along the sentence, or over everything. A different
    measure of size passes: another check grades it.
    """
    case = make_case(numbers, 4, 3, d_model)
    assert_divides_by_the_size(student, case.x)
    module = double(student, d_model)
    output = module(case.x)
    for alone, together in (
        (case.x[1:2], output[1:2]),
        (case.x[:, 2:], output[:, 2:]),
        (case.x[2:3, 1:2], output[2:3, 1:2]),
    ):
        assert_matches(module(alone), together, "output of a part of the batch", axes=AXES)


@check(points=0.5, inputs=cases(), examples=2)
def test_each_feature_has_a_scale(student: Any, case: RMSNormCase) -> None:
    """`weight` starts at one, has a number for every feature, and is the only parameter.

    Sees a single number for all features, a scale that starts at zero, a bias, a tensor that is not
    a parameter. A wrong normalisation passes: other checks grade it.
    """
    assert_divides_by_the_size(student, case.x)
    module = student.RMSNorm(case.d_model).eval()
    shapes = {"weight": (case.d_model,)}
    assert_registers(module, shapes, "RMSNorm")
    start = module.weights(shapes)["weight"]
    assert_matches(start, torch.ones(case.d_model), "`weight` at the start")
    module.to(torch.float64)
    plain = module.load({"weight": torch.ones_like(case.weight)})(case.x)
    scaled = module.load({"weight": case.weight})(case.x)
    assert_matches(scaled, plain * case.weight, axes=AXES)


@check(points=1, inputs=cases(), examples=2)
def test_gradients_agree_with_torch(student: Any, case: RMSNormCase) -> None:
    """Gradients flow back to x and weight as through nn.RMSNorm.

    Sees a mean square cut out of the graph by detach, .data, item or no_grad, which no value
    shows.
    """
    x, weight = case.x.clone().requires_grad_(), case.weight.clone().requires_grad_()
    module = double(student, case.d_model).load({"weight": weight})
    result = gradients(module(x), [x, weight], case.cotangent)
    assert_gradients(result, case.torch_gradients, ("x", "weight"))


@check(points=0.5, inputs=cases(), examples=2)
def test_works_on_any_input(student: Any, case: RMSNormCase) -> None:
    """Any length, memory layout and dtype works, copies work, and the input is not modified.

    Sees `view` on a tensor that is not contiguous, in-place changes, an output that stays in
    float32, a dropout in training, and changed global settings of torch.
    """
    assert_divides_by_the_size(student, case.x)
    settings = student.global_settings()
    module = double(student, case.d_model)
    output = module(case.x)
    assert_shape(output, dict(zip(AXES, case.x.shape, strict=True)))
    assert_matches(module(case.x[:1, :2]), output[:1, :2], "output for two tokens", axes=AXES)
    assert_same_in_training(module, output, case.x)
    x = transposed(case.x)
    result, after = module.echo(x)
    assert_matches(result, output, "output for x that is not contiguous", axes=AXES)
    assert_not_edited([x], after, ["x"])
    assert_matches(module.copy()(case.x), output, "output of a deep copy", axes=AXES)
    # Measured: in bfloat16 right code is off by up to 0.012 of the largest entry.
    largest = output.abs().max().item()
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.05)):
        module.to(dtype)
        result, after = module.echo(case.x.to(dtype))
        subject = f"output for {str(dtype).removeprefix('torch.')} input"
        assert_dtype(result, dtype, subject)
        assert_matches(result, output, subject, axes=AXES, rtol=tolerance, atol=tolerance * largest)
        assert_not_edited([case.x.to(dtype)], after, ["x"])
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: RMSNormCase) -> None:
    """Tokens in float64 are normalised in float64.

    Sees a computation in float32. It carries no points: float32 is accurate enough here.
    """
    output = double(student, case.d_model).load({"weight": case.weight})(case.x)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)


@check(points=0, inputs=cases(), examples=1)
def test_takes_any_number_of_axes(student: Any, case: RMSNormCase) -> None:
    """A tensor may have any number of axes, as in nn.RMSNorm.

    Sees axes that are counted from the front. It carries no points: a batch has three axes here.
    """
    module = double(student, case.d_model)
    if not matches(module(case.x), case.normalised):
        return
    for x, expected in (
        (case.x[0, 0], case.normalised[0, 0]),
        (case.x[0], case.normalised[0]),
        (case.x[None], case.normalised[None]),
    ):
        assert_matches(module(x), expected, f"output for an input of shape {tuple(x.shape)}")
