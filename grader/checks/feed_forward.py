"""Hidden checks of `feed_forward`: the position-wise network (Vaswani et al. 2017, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_drops,
    assert_gradients,
    assert_not_edited,
    assert_refuses,
    assert_registers,
    gradients,
    matches,
    pull_back,
)
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs, transposed
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape
from grader.remote.proxy import RemoteModule

AXES = ("batch", "length", "d_model")


def network(x: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
    """Return what torch's functions compute from x."""
    hidden = F.relu(F.linear(x, weights["linear1.weight"], weights["linear1.bias"]))
    return F.linear(hidden, weights["linear2.weight"], weights["linear2.bias"])


@dataclass(frozen=True)
class FeedForwardCase:
    """Tokens and the weights of a network."""

    x: Tensor
    weights: dict[str, Tensor]
    numbers: Numbers

    @property
    def sizes(self) -> tuple[int, int]:
        """Return d_model and d_ff."""
        d_ff, d_model = self.weights["linear1.weight"].shape
        return d_model, d_ff

    @property
    def maps(self) -> dict[str, Tensor]:
        """Return the two matrices alone, so that a missing bias only fails the check for it."""
        return {name: self.weights[name] for name in ("linear1.weight", "linear2.weight")}

    @cached_property
    def output(self) -> Tensor:
        """Return what torch's functions give. (batch, length, d_model)"""
        return network(self.x, self.weights)

    @cached_property
    def cotangent(self) -> Tensor:
        """Return a random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.x.shape)

    @cached_property
    def torch_gradients(self) -> tuple[Tensor, ...]:
        """Return the gradients of torch's functions with respect to x and the weights."""
        x = self.x.clone().requires_grad_()
        weights = {name: value.clone().requires_grad_() for name, value in self.weights.items()}
        output = network(x, weights)
        return pull_back(output, [x, *weights.values()], self.cotangent)


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> FeedForwardCase:
    """Draw networks whose batch, length, d_model and d_ff all differ; d_ff may be the smaller."""
    batch, length, d_model, d_ff = draw(distinct_sizes(4, low=3))
    x = numbers.normal("x", batch, length, d_model)
    shapes = {
        "linear1.weight": (d_ff, d_model),
        "linear1.bias": (d_ff,),
        "linear2.weight": (d_model, d_ff),
        "linear2.bias": (d_model,),
    }
    weights = {name: numbers.normal(name, *shape) for name, shape in shapes.items()}
    weights["linear1.bias"] += 1.0
    return FeedForwardCase(x, weights, numbers)


def load_known(module: RemoteModule, weights: Mapping[str, Tensor]) -> RemoteModule:
    """Load the parameters that the module has. Another check looks for missing ones."""
    known = {parameter.name for parameter in module.parameters()}
    return module.load({name: value for name, value in weights.items() if name in known})


def straight(width: int) -> dict[str, Tensor]:
    """Return weights of two linear maps that change nothing."""
    return {
        "linear1.weight": torch.eye(width),
        "linear1.bias": torch.zeros(width),
        "linear2.weight": torch.eye(width),
        "linear2.bias": torch.zeros(width),
    }


def silenced(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights, with zeros for the matrix of linear2."""
    return {**weights, "linear2.weight": torch.zeros_like(weights["linear2.weight"])}


def assert_uses_the_maps(silent: Any, output: Any, shape: torch.Size) -> None:
    """Check that all tokens come out alike with zeros in linear2, and differ without them.

    No lazy answer passes this, but one with a wrong activation does.
    """
    for result in (silent, output):
        assert_shape(result, dict(zip(AXES, shape, strict=True)))
    first = silent[:1, :1].expand(shape)
    assert_matches(silent, first, "output when the weight of linear2 is zero", axes=AXES)
    tokens = output.double().flatten(0, 1)
    if (tokens - tokens[:1]).abs().max().item() < 1e-3:
        raise Mismatch("Your output does not depend on the input.")


@check(points=2, inputs=cases(), examples=3)
def test_agrees_with_torch(student: Any, case: FeedForwardCase) -> None:
    """The output is linear2(relu(linear1(x))).

    Sees an activation that is missing, comes after the second linear map or comes twice, and
    anything added to the formula.
    """
    for module in (
        student.FeedForward(*case.sizes, 0.0),
        student.FeedForward(*case.sizes, 0.0, activation="relu"),
    ):
        load_known(module.to(torch.float64).eval(), case.weights)
        assert_matches(module(case.x), case.output, axes=AXES)


@check(points=1, inputs=(st.integers(5, 8), st.integers(0, 2**16)), examples=2)
def test_gelu_is_the_exact_one(student: Any, width: int, seed: int) -> None:
    """With activation="gelu", the activation is the exact GELU, x times Φ(x).

    Sees the tanh form and the sigmoid form, which are only nearly the same, and ReLU used whatever
    `activation` says.
    """
    # The tanh form is off by 4.7e-4 at 2.3, 1.414 in place of √2 by 4e-5, float32 by 3e-7.
    x = (torch.linspace(-4.0, 3.0, 3 * 4 * width) + seed / 2**20).reshape(3, 4, width)
    expected = F.gelu(x.double())
    for module in (
        student.FeedForward(width, width, 0.0, "gelu"),
        student.FeedForward(width, width, dropout=0.0, activation="gelu"),
    ):
        output = load_known(module, straight(width)).eval()(x)
        assert_matches(output, expected, 'output with activation="gelu"', axes=AXES, atol=5e-6)


@check(points=1, inputs=cases(), examples=2)
def test_each_token_stands_alone(student: Any, case: FeedForwardCase) -> None:
    """A token comes out the same alone, at another position and in another batch.

    Sees tokens that are mixed, and sizes kept from the first call.
    """
    module = student.FeedForward(*case.sizes, 0.0).to(torch.float64).eval()
    silent = module.load(silenced(case.maps))(case.x)
    output = module.load(case.maps)(case.x)
    assert_uses_the_maps(silent, output, case.x.shape)
    for part, together in (
        (case.x[1:2, 2:3], output[1:2, 2:3]),
        (case.x.flip(1)[1:], output.flip(1)[1:]),
        (case.x.transpose(0, 1), output.transpose(0, 1)),
    ):
        assert_matches(module(part), together, "output of tokens at another position", axes=AXES)


@check(points=2, inputs=cases(), examples=2)
def test_every_parameter_learns(student: Any, case: FeedForwardCase) -> None:
    """The parameters are those of linear1 and linear2, and each receives the gradient of torch.

    Sees a missing bias, a layer that is never used or used twice, and a `detach`.
    """
    module = student.FeedForward(*case.sizes, 0.0)
    shapes = {name: tuple(value.shape) for name, value in case.weights.items()}
    assert_registers(module, shapes, "FeedForward")
    x = case.x.clone().requires_grad_()
    weights = {name: value.clone().requires_grad_() for name, value in case.weights.items()}
    output = module.to(torch.float64).load(weights).eval()(x)
    result = gradients(output, [x, *weights.values()], case.cotangent)
    assert_gradients(result, case.torch_gradients, ("x", *weights))


@check(points=2, inputs=st.sampled_from((0.2, 0.3, 0.5)), examples=1)
def test_dropout_acts_after_the_activation(student: Any, p: float) -> None:
    """In training, dropout acts between the activation and linear2; in evaluation there is none.

    Sees dropout on the input, before a gelu, after linear2, missing, active in evaluation, or with
    another probability than the argument.
    """
    # All features are equal, 0.5 outside and 1 inside, so that the output shows where something was
    # dropped. The bias is 2, so that x + dropout(x) at the end cannot give the right numbers.
    # Dropout too early, gelu(1 / (1 - p)), is off from gelu(1) / (1 - p) by 0.06 and more.
    x = torch.full((4, 8, 16), 0.5)
    weights = {
        **straight(16),
        "linear1.bias": torch.full((16,), 0.5),
        "linear2.bias": torch.full((16,), 2.0),
    }
    without = {}
    for activation in ("relu", "gelu"):
        module = student.FeedForward(16, 16, 0.0, activation)
        output = load_known(module, weights)(x)
        without[activation] = module.eval()(x)
        assert_matches(output, without[activation], "output in training with dropout 0", axes=AXES)
    for rate, activation, module in (
        (p, "relu", student.FeedForward(16, 16, p, "relu")),
        (p, "gelu", student.FeedForward(16, 16, p, "gelu")),
        (0.1, "relu", student.FeedForward(16, 16, activation="relu")),
    ):
        module.eval()
        silent = load_known(module, silenced(weights))(x)
        load_known(module, weights)
        evaluated, again = module(x), module(x)
        module.train()
        trained = [module(x), module(x)]
        assert_matches(evaluated, without[activation], "output in evaluation", axes=AXES)
        assert_matches(again, evaluated, "second output in evaluation", axes=AXES)
        assert_passes_the_maps(silent, evaluated, x.shape)
        for output in trained:
            assert_shape(output, tuple(x.shape), "output in training mode")
            if (silent == 2).all() and (output == 0).any():
                raise Mismatch(
                    "In training mode some numbers of your output are exactly 0, though linear2 "
                    "adds its bias of 2 to each of them. What comes after linear2 in your code?"
                )
        inside = [_above(output, silent) for output in (evaluated, *trained)]
        assert_drops(inside[1:], inside[0], rate, "hidden features")


def assert_passes_the_maps(silent: Any, output: Any, shape: torch.Size) -> None:
    """Check that the output is constant with zeros in linear2, and larger without them."""
    for result in (silent, output):
        assert_shape(result, dict(zip(AXES, shape, strict=True)))
    first = silent[:1, :1, :1].expand(shape)
    assert_matches(silent, first, "output when the weight of linear2 is zero", axes=AXES)
    if not (output - silent > 0.1).all():
        raise Mismatch(
            "Here linear2 should get positive features and its weight is the identity, so each "
            "number of your output should be larger than with a weight of zeros."
        )


def _above(output: Tensor, silent: Tensor) -> Tensor:
    difference = output - silent
    return torch.where(difference.abs() < 1e-6, 0.0, difference)


@check(points=1, inputs=cases(), examples=2)
def test_works_on_any_input(student: Any, case: FeedForwardCase) -> None:
    """Any memory layout and dtype works, copies work, and the input is not modified.

    Sees `view` on non-contiguous inputs, an activation that modifies the input, and an output of
    another dtype.
    """
    settings = student.global_settings()
    module = student.FeedForward(*case.sizes, 0.0).eval()
    small = case.x.float()
    silent = module.load(silenced(case.maps))(small)
    output = module.load(case.maps)(small)
    assert_uses_the_maps(silent, output, case.x.shape)
    assert_dtype(output, torch.float32)
    x = transposed(small)
    result, after = module.echo(x)
    assert_matches(result, output, "output for non-contiguous x", axes=AXES)
    assert_not_edited([x], after, ["x"])
    assert_matches(module.copy()(small), output, "output of a deep copy", axes=AXES)
    low = module.to(torch.bfloat16)(case.x.to(torch.bfloat16))
    assert_dtype(low, torch.bfloat16, "output for torch.bfloat16 input")
    # Measured over 600 random cases and nine right answers: off by up to 0.0125 of this.
    atol = 0.05 * output.abs().max().item()
    assert_matches(low, output, "output for torch.bfloat16 input", axes=AXES, rtol=0.05, atol=atol)
    if student.global_settings() != settings:
        raise Mismatch("Your code changes a global setting of torch.")


@check(points=1, inputs=(cases(), st.sampled_from(("sigmoid", "swish", "linear"))), examples=2)
def test_refuses_an_unknown_activation(
    student: Any, case: FeedForwardCase, activation: str
) -> None:
    """Any `activation` other than "relu" and "gelu" raises ValueError.

    Sees a name that is ignored, or that silently stands for one of the two.
    """
    outputs = []
    for known in ("relu", "gelu"):
        module = student.FeedForward(*case.sizes, 0.0, known).to(torch.float64).eval()
        silent = load_known(module, silenced(case.weights))(case.x)
        output = load_known(module, case.weights)(case.x)
        assert_uses_the_maps(silent, output, case.x.shape)
        outputs.append(output)
    if (outputs[0] - outputs[1]).abs().max().item() < 1e-3:
        raise Mismatch('"relu" and "gelu" give the same output.')

    for unknown in ("tanh", activation, "ReLU", "", "elu"):  # "elu" is a part of both names

        def use(unknown: str = unknown) -> None:
            student.FeedForward(*case.sizes, activation=unknown)(case.x.float())

        assert_refuses(
            ValueError, use, f'FeedForward(…, activation="{unknown}"): there is no such activation'
        )


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: FeedForwardCase) -> None:
    """Tokens in float64 are computed in float64.

    Sees a computation in float32. It carries no points: float32 is accurate enough here.
    """
    module = student.FeedForward(*case.sizes, 0.0).to(torch.float64).eval()
    output = load_known(module, case.weights)(case.x)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)
