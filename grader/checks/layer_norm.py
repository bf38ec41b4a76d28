"""Hidden checks of `layer_norm`: layer normalisation (Ba, Kiros and Hinton 2016)."""

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
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape

AXES = ("batch", "length", "d_model")


@dataclass(frozen=True)
class LayerNormCase:
    """Tokens of known mean and standard deviation, and a scale and a shift for each feature.

    The deviations are 1 to 3. There the place of `eps` changes the result by 5e-6, within the usual
    tolerance of 2e-5, and the unbiased variance by 1 / (2 d_model): 0.05 and more for up to 9
    features.
    """

    x: Tensor
    weight: Tensor
    bias: Tensor
    numbers: Numbers

    @property
    def d_model(self) -> int:
        """Return the number of features of a token."""
        return self.x.size(-1)

    @property
    def weights(self) -> dict[str, Tensor]:
        """Return the parameters by name."""
        return {"weight": self.weight, "bias": self.bias}

    @cached_property
    def normalised(self) -> Tensor:
        """Return what torch's layer gives before scale and shift. (batch, length, d_model)"""
        return F.layer_norm(self.x, (self.d_model,))

    @cached_property
    def output(self) -> Tensor:
        """Return what torch's layer gives. (batch, length, d_model)"""
        return F.layer_norm(self.x, (self.d_model,), self.weight, self.bias)

    @cached_property
    def cotangent(self) -> Tensor:
        """Return random weights for the output, so that no part of the gradient vanishes."""
        return self.numbers.normal("cotangent", *self.x.shape) + self.normalised + 1.0

    @cached_property
    def torch_gradients(self) -> tuple[Tensor, ...]:
        """Return the gradients of torch's layer with respect to x, weight and bias."""
        leaves = [leaf.clone().requires_grad_() for leaf in (self.x, self.weight, self.bias)]
        output = F.layer_norm(leaves[0], (self.d_model,), leaves[1], leaves[2])
        return pull_back(output, leaves, self.cotangent)


def make_case(numbers: Numbers, batch: int, length: int, d_model: int) -> LayerNormCase:
    """Return a case of these sizes in float64."""
    raw = numbers.normal("x", batch, length, d_model)
    raw = raw - raw.mean(-1, keepdim=True)
    raw = raw / raw.square().mean(-1, keepdim=True).sqrt()
    deviation = 2.0 + numbers.normal("deviation", batch, length, 1).tanh()
    return LayerNormCase(
        x=raw * deviation + numbers.normal("mean", batch, length, 1) * 2.0,
        weight=numbers.normal("weight", d_model) * 0.5 + 1.5,
        bias=numbers.normal("bias", d_model),
        numbers=numbers,
    )


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> LayerNormCase:
    """Draw few features; batch, length and d_model all differ."""
    batch, length, d_model = draw(distinct_sizes(3, low=3))
    return make_case(numbers, batch, length, d_model)


@inputs
def wide_cases(draw: st.DrawFn, numbers: Numbers) -> LayerNormCase:
    """Draw so many features that biased and unbiased variance nearly agree."""
    return make_case(numbers, 2, 3, draw(st.integers(150, 200)))


def assert_normalises(student: Any, x: Tensor) -> None:
    """Check that a new module removes a common factor and shift and treats all features alike.

    No lazy answer passes this, but normalising along the wrong axes does.
    """
    module = student.LayerNorm(x.size(-1)).to(x.dtype).eval()
    output, moved, flipped = module(x), module(3.0 * x + 5.0), module(x.flip(-1))
    assert_shape(output, dict(zip(AXES, x.shape, strict=True)))
    assert_matches(moved, output, "output for 3x + 5", axes=AXES, atol=2e-2)
    assert_matches(flipped, output.flip(-1), "output for x with its features flipped", axes=AXES)
    if (output.amax() - output.amin()).item() < 0.5:
        raise Mismatch("Your output is the same number everywhere.")


@check(points=2, inputs=cases(), examples=3)
def test_agrees_with_torch(student: Any, case: LayerNormCase) -> None:
    """The output equals that of nn.LayerNorm with the same weight and bias.

    Sees the unbiased variance, which divides by d_model - 1, and a division by the variance instead
    of its root.
    """
    module = student.LayerNorm(case.d_model).to(torch.float64).load(case.weights).eval()
    assert_matches(module(case.x), case.output, axes=AXES)
    single = student.LayerNorm(1).to(torch.float64).load({"bias": case.bias[:1]}).eval()
    expected = case.bias[:1].expand(3, 2, 1)
    assert_matches(single(case.x[:3, :2, :1]), expected, "output for one feature", axes=AXES)


@check(points=2, inputs=wide_cases(), examples=2)
def test_eps_stands_inside_the_root(student: Any, case: LayerNormCase) -> None:
    """Small inputs come out right, with `eps` inside the root, and equal features give no NaN.

    Sees `eps` added to the root, left out, fixed, or of another size, which inputs near one hide,
    and an `eps` of 0 taken for none.
    """
    # Measured at these widths: the unbiased variance is off by 3e-3, a misplaced or different eps
    # by 5e-2 and more, float32 by 1e-6.
    for eps, scales, module in (
        (0.0, (1e-5,), student.LayerNorm(case.d_model, 0.0)),
        (1e-5, (1e-2, 1e-3, 1e3), student.LayerNorm(case.d_model)),
        (0.02, (0.1,), student.LayerNorm(case.d_model, eps=0.02)),
    ):
        module.to(torch.float64).eval()
        for scale in scales:
            x = (case.x - case.x.mean(-1, keepdim=True)) * scale
            expected = F.layer_norm(x, (case.d_model,), eps=eps)
            subject = f"output for inputs times {scale:g} and eps {eps:g}"
            assert_matches(module(x), expected, subject, axes=AXES, rtol=1e-2, atol=1e-2)
    equal = torch.full((2, 3, case.d_model), 4.0, dtype=torch.float64)
    output = module(equal)
    assert_matches(output, torch.zeros_like(equal), "output for equal features", atol=1e-3)


@check(points=2, inputs=(st.integers(16, 24), random_numbers()), examples=2)
def test_each_token_stands_alone(student: Any, d_model: int, numbers: Numbers) -> None:
    """Every token has mean 0 and variance 1, and comes out the same alone as in its batch.

    Sees statistics taken along the batch, along the sentence, or over everything. The unbiased
    variance passes: another check grades it.
    """
    case = make_case(numbers, 4, 3, d_model)
    module = student.LayerNorm(d_model).to(torch.float64).eval()
    output = module(case.x)
    zeros, ones = torch.zeros(4, 3), torch.ones(4, 3)
    assert_shape(output, dict(zip(AXES, case.x.shape, strict=True)))
    assert_matches(output.mean(-1), zeros, "mean over the features", axes=AXES[:2], atol=1e-3)
    variance = output.double().square().mean(-1)
    assert_matches(variance, ones, "variance over the features", axes=AXES[:2], atol=0.15)
    centred = case.x - case.x.mean(-1, keepdim=True)
    direction = (output * centred).sum(-1) / (output.norm(dim=-1) * centred.norm(dim=-1))
    assert_matches(direction, ones, "direction of each token", axes=AXES[:2], atol=1e-2)
    for alone, together in (
        (case.x[1:2], output[1:2]),
        (case.x[:, 2:], output[:, 2:]),
        (case.x[2:3, 1:2], output[2:3, 1:2]),
    ):
        assert_matches(module(alone), together, "output of a part of the batch", axes=AXES)


@check(points=1, inputs=cases(), examples=2)
def test_each_feature_has_a_scale_and_a_shift(student: Any, case: LayerNormCase) -> None:
    """`weight` starts at one, `bias` at zero; both have one number per feature and are used.

    Sees a single number for all features, a shift that starts at one, tensors that are not
    parameters. A wrong normalisation passes: other checks grade it.
    """
    assert_normalises(student, case.x)
    module = student.LayerNorm(case.d_model).eval()
    shapes = {"weight": (case.d_model,), "bias": (case.d_model,)}
    assert_registers(module, shapes, "LayerNorm")
    start = module.weights(shapes)
    assert_matches(start["weight"], torch.ones(case.d_model), "`weight` at the start")
    assert_matches(start["bias"], torch.zeros(case.d_model), "`bias` at the start")
    module.to(torch.float64)
    plain = module.load({"weight": torch.ones_like(case.weight), "bias": 0.0 * case.bias})(case.x)
    scaled = module.load(case.weights)(case.x)
    assert_matches(scaled, plain * case.weight + case.bias, axes=AXES)


@check(points=2, inputs=wide_cases(), examples=2)
def test_gradients_agree_with_torch(student: Any, case: LayerNormCase) -> None:
    """Gradients flow back to x, weight and bias as through nn.LayerNorm.

    Sees mean or variance cut out of the graph by detach, .data, item or no_grad, which does not
    show in any value.
    """
    x = case.x.clone().requires_grad_()
    weights = {name: value.clone().requires_grad_() for name, value in case.weights.items()}
    module = student.LayerNorm(case.d_model).to(torch.float64).load(weights).eval()
    result = gradients(module(x), [x, *weights.values()], case.cotangent)
    # Measured at these widths: the unbiased variance is off by 3e-3 of the largest gradient, mean
    # or variance cut out of the graph by 0.3.
    for name, actual, gradient in zip(("x", *weights), result, case.torch_gradients, strict=True):
        if actual is None:
            assert_gradients([actual], [gradient], [name])
        atol = 1.5e-2 * gradient.abs().max().item()
        assert_matches(actual, gradient, f"gradient of `{name}`", rtol=1.5e-2, atol=atol)


@check(points=1, inputs=cases(), examples=2)
def test_works_on_any_input(student: Any, case: LayerNormCase) -> None:
    """Any length, memory layout and dtype works, copies work, and the input is not modified.

    Sees `view` on non-contiguous inputs, in-place changes, an output of another dtype, a dropout
    in training, and a variance computed as E[x²] - E[x]², of which rounding leaves nothing far
    from zero.
    """
    assert_normalises(student, case.x)
    settings = student.global_settings()
    module = student.LayerNorm(case.d_model).to(torch.float64).eval()
    output = module(case.x)
    assert_shape(output, dict(zip(AXES, case.x.shape, strict=True)))
    assert_matches(module(case.x[:1, :2]), output[:1, :2], "output for two tokens", axes=AXES)
    assert_same_in_training(module, output, case.x)
    x = transposed(case.x)
    result, after = module.echo(x)
    assert_matches(result, output, "output for non-contiguous x", axes=AXES)
    assert_not_edited([x], after, ["x"])
    assert_matches(module.copy()(case.x), output, "output of a deep copy", axes=AXES)
    # In bfloat16, right code is off by up to 0.1.
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.3)):
        module.to(dtype)
        low = module(case.x.to(dtype))
        assert_dtype(low, dtype, f"output for {dtype} input")
        assert_matches(
            low, output, f"output for {dtype} input", axes=AXES, rtol=tolerance, atol=tolerance
        )
    # Measured: subtracting the mean first is off by 1e-4, E[x²] - E[x]² by 0.3. With so many
    # features the unbiased variance, which another check grades, is off by 3e-3.
    wide = make_case(case.numbers, 2, 3, 160)
    far = (wide.x + 1000.0).float()
    expected = F.layer_norm(far.double(), (wide.d_model,))
    subject = "output for float32 numbers around 1000"
    fresh = student.LayerNorm(wide.d_model).eval()  # bfloat16 has rounded the other one's numbers
    assert_matches(fresh(far), expected, subject, axes=AXES, rtol=1e-2, atol=1e-2)
    if student.global_settings() != settings:
        raise Mismatch("Your code changes a global setting of torch.")


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: LayerNormCase) -> None:
    """Tokens in float64 are normalised in float64.

    Sees a computation in float32. It carries no points: float32 is accurate enough here.
    """
    module = student.LayerNorm(case.d_model).to(torch.float64).load(case.weights).eval()
    output = module(case.x)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)


@check(points=0, inputs=cases(), examples=1)
def test_takes_any_number_of_axes(student: Any, case: LayerNormCase) -> None:
    """A tensor may have any number of axes, as in nn.LayerNorm.

    Sees axes counted from the front. It carries no points: a batch has three axes here.
    """
    module = student.LayerNorm(case.d_model).to(torch.float64).eval()
    if not matches(module(case.x), case.normalised):
        return
    for x, expected in (
        (case.x[0, 0], case.normalised[0, 0]),
        (case.x[0], case.normalised[0]),
        (case.x[None], case.normalised[None]),
    ):
        assert_matches(module(x), expected, f"output for an input of shape {tuple(x.shape)}")
