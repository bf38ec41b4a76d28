"""Hidden checks of `swiglu`: the gated feed-forward network (Shazeer 2020, equation 6)."""

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
    assert_gradients,
    assert_keeps_numbers,
    assert_not_edited,
    assert_registers,
    assert_same_in_training,
    gradients,
    matches,
    pull_back,
)
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs, transposed
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_shape,
)
from grader.remote.proxy import RemoteModule

AXES = ("batch", "length", "d_model")
PARTS = ("gate_proj", "up_proj", "down_proj")
LARGEST_GATE = 1000.0


def network(x: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
    """What torch's functions compute from x with these weights."""
    gate, up = (
        F.linear(x, weights[f"{part}.weight"], weights.get(f"{part}.bias")) for part in PARTS[:2]
    )
    return F.linear(F.silu(gate) * up, weights["down_proj.weight"], weights.get("down_proj.bias"))


@dataclass(frozen=True)
class SwiGLUCase:
    """Tokens and the weights of a network, with biases."""

    x: Tensor
    weights: dict[str, Tensor]
    numbers: Numbers

    @property
    def sizes(self) -> tuple[int, int]:
        """d_model and d_ff."""
        d_ff, d_model = self.weights["gate_proj.weight"].shape
        return d_model, d_ff

    @property
    def matrices(self) -> dict[str, Tensor]:
        """The three weights alone."""
        return {name: value for name, value in self.weights.items() if name.endswith("weight")}

    @cached_property
    def plain(self) -> Tensor:
        """What torch's functions return without biases. (batch, length, d_model)"""
        return network(self.x, self.matrices)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.x.shape)

    def torch_gradients(self, x: Tensor, weights: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """The gradients of torch's functions with regard to x and these weights."""
        leaves = {name: value.clone().requires_grad_() for name, value in weights.items()}
        own = x.clone().requires_grad_()
        return pull_back(network(own, leaves), [own, *leaves.values()], self.cotangent)


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> SwiGLUCase:
    """Networks with batch, length, d_model and d_ff all different; d_ff may be the smaller one."""
    batch, length, d_model, d_ff = draw(distinct_sizes(4, low=3))
    shapes = {
        "gate_proj.weight": (d_ff, d_model),
        "up_proj.weight": (d_ff, d_model),
        "down_proj.weight": (d_model, d_ff),
        "gate_proj.bias": (d_ff,),
        "up_proj.bias": (d_ff,),
        "down_proj.bias": (d_model,),
    }
    weights = {name: numbers.normal(name, *shape) for name, shape in shapes.items()}
    return SwiGLUCase(numbers.normal("x", batch, length, d_model), weights, numbers)


def double(student: Any, case: SwiGLUCase) -> RemoteModule:
    """A new module without biases, in float64."""
    module: RemoteModule = student.SwiGLU(*case.sizes).to(torch.float64).eval()
    return module


def load_known(module: RemoteModule, weights: Mapping[str, Tensor]) -> RemoteModule:
    """Loads what the module has. Another check looks for what it has not."""
    known = {parameter.name for parameter in module.parameters()}
    return module.load({name: value for name, value in weights.items() if name in known})


def assert_multiplies(module: RemoteModule, x: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
    """With zeros in `down_proj` all tokens come out alike, else as no linear map of x.

    No lazy answer does that, and a network with another activation, or with gate and up exchanged,
    does. Returns the output with these weights.
    """
    zeros = torch.zeros_like(weights["down_proj.weight"])
    silent = load_known(module, {**weights, "down_proj.weight": zeros})(x)
    load_known(module, weights)
    output: Tensor = module(x)
    doubled = module(2.0 * x)
    for result in (silent, output, doubled):
        assert_shape(result, dict(zip(AXES, x.shape, strict=True)))
    first = silent[:1, :1].expand(x.shape)
    assert_matches(silent, first, "output when the weight of down_proj is zero", axes=AXES)
    if (doubled - 2.0 * output + silent).abs().max().item() < 1e-3:
        raise Mismatch("Your output for 2x is twice that for x: nothing in it is multiplied.")
    if (output - output[:1, :1]).abs().max().item() < 1e-3:
        raise Mismatch("Your output does not depend on the input.")
    return output


@check(points=1, inputs=cases(), examples=3)
def test_agrees_with_torch(student: Any, case: SwiGLUCase) -> None:
    """The output is down_proj(silu(gate_proj(x)) * up_proj(x)).

    Sees gate and up exchanged, SiLU of the product, a sum for the product, another activation, and
    an activation that is missing or comes twice.
    """
    module = load_known(double(student, case), case.matrices)
    assert_matches(module(case.x), case.plain, axes=AXES)


@check(points=1, inputs=cases(), examples=2)
def test_large_gates_stay_finite(student: Any, case: SwiGLUCase) -> None:
    """For gates of up to 1000 in size, the result is right and all gradients are finite.

    Sees e to the power of the gate taken as it stands: infinity over infinity on one side, and on
    the other a result that is right and a gradient of zero times infinity.
    """
    gates = F.linear(case.x, case.matrices["gate_proj.weight"])
    scale = LARGEST_GATE / gates.abs().max()
    large = {name: value.clone() for name, value in case.matrices.items()}
    large["gate_proj.weight"] *= scale
    for dtype, rtol in ((torch.float32, 1e-3), (torch.float64, 1e-5)):
        x = case.x.to(dtype).requires_grad_()
        weights = {name: value.to(dtype).requires_grad_() for name, value in large.items()}
        module = load_known(student.SwiGLU(*case.sizes).to(dtype).eval(), weights)
        output = module(x)
        expected = network(case.x, large)
        atol = 1e-5 * expected.abs().max().item()
        assert_matches(
            output, expected, "output for gates of 1000", axes=AXES, rtol=rtol, atol=atol
        )
        result = gradients(output, [x, *weights.values()], case.cotangent)
        for name, gradient in zip(("x", *weights), result, strict=True):
            if gradient is not None:
                assert_finite(gradient, f"gradient of `{name}` for gates of 1000")


@check(points=0.5, inputs=cases(), examples=2)
def test_each_token_stands_alone(student: Any, case: SwiGLUCase) -> None:
    """A token comes out the same alone, at another position and in another batch.

    Sees tokens that are mixed, as by a softmax in place of SiLU, sizes that only the first call
    knows, and code for a fixed number of axes.
    """
    module = double(student, case)
    output = assert_multiplies(module, case.x, case.matrices)
    for part, together in (
        (case.x[1:2, 2:3], output[1:2, 2:3]),
        (case.x.flip(1)[1:], output.flip(1)[1:]),
        (case.x.transpose(0, 1), output.transpose(0, 1)),
    ):
        assert_matches(module(part), together, "output of tokens at other positions", axes=AXES)
    for part, together, axes in (
        (case.x[0, 0], output[0, 0], AXES[2:]),
        (case.x[0], output[0], AXES[1:]),
        (case.x[None], output[None], ("group", *AXES)),
    ):
        subject = f"output for shape {tuple(part.shape)}"
        assert_matches(module(part), together, subject, axes=axes)


@check(points=1, inputs=cases(), examples=2)
def test_biases_are_there_when_wanted(student: Any, case: SwiGLUCase) -> None:
    """Without `bias` there are three weights; with `bias=True` each part has a bias, and uses it.

    Sees biases that are always there, never there, missing in one part or added in another place,
    and a matrix that two parts share. A wrong activation passes: it costs points in another check.
    """
    assert_multiplies(double(student, case), case.x, case.matrices)
    for bias, weights in ((None, case.matrices), (False, case.matrices), (True, case.weights)):
        arguments = case.sizes if bias is None else (*case.sizes, bias)
        module = student.SwiGLU(*arguments)
        shapes = {name: tuple(value.shape) for name, value in weights.items()}
        written = f"SwiGLU({', '.join(map(str, arguments))})"
        assert_registers(module, shapes, written)
        module.to(torch.float64).load(weights)
        assert_keeps_numbers(module, weights)
    named = student.SwiGLU(*case.sizes, bias=True).to(torch.float64).eval()
    output = assert_multiplies(named, case.x, case.weights)
    if matches(load_known(double(student, case), case.matrices)(case.x), case.plain):
        expected = network(case.x, case.weights)
        assert_matches(output, expected, "output with bias=True", axes=AXES)
    for part in PARTS:
        name = f"{part}.bias"
        moved = named.load({**case.weights, name: case.weights[name] + 1.0})(case.x)
        if (moved - output).abs().max().item() < 1e-3:
            raise Mismatch(f"Your output does not depend on the bias of {part}.")


@check(points=1, inputs=cases(), examples=2)
def test_gradients_agree_with_torch(student: Any, case: SwiGLUCase) -> None:
    """Gradients flow back to x and to every weight as through torch's functions.

    Sees a gate that is cut out of the graph by detach, .data or no_grad, which no value shows, and
    a part that is made and never used.
    """
    x = case.x.clone().requires_grad_()
    weights = {name: value.clone().requires_grad_() for name, value in case.matrices.items()}
    output = load_known(double(student, case), weights)(x)
    result = gradients(output, [x, *weights.values()], case.cotangent)
    assert_gradients(result, case.torch_gradients(case.x, case.matrices), ("x", *weights))


@check(points=0.5, inputs=cases(), examples=2)
def test_works_on_any_input(student: Any, case: SwiGLUCase) -> None:
    """Any memory layout and dtype works, copies work, and the input is not modified.

    Sees `view` on a tensor that is not contiguous, in-place changes, an output in another dtype, a
    dropout in training, and changed global settings of torch.
    """
    settings = student.global_settings()
    module = student.SwiGLU(*case.sizes).eval()
    small = case.x.float()
    output = assert_multiplies(module, small, case.matrices)
    assert_dtype(output, torch.float32)
    assert_same_in_training(module, output, small)
    x = transposed(small)
    result, after = module.echo(x)
    assert_matches(result, output, "output for x that is not contiguous", axes=AXES)
    assert_not_edited([x], after, ["x"])
    assert_matches(module.copy()(small), output, "output of a deep copy", axes=AXES)
    low = module.to(torch.bfloat16)(case.x.to(torch.bfloat16))
    assert_dtype(low, torch.bfloat16, "output for bfloat16 input")
    # Measured: right code is off by up to 0.02 of the largest entry.
    atol = 0.08 * output.abs().max().item()
    assert_matches(low, output, "output for bfloat16 input", axes=AXES, rtol=0.05, atol=atol)
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: SwiGLUCase) -> None:
    """Tokens in float64 are computed in float64.

    Sees a computation in float32. It carries no points: float32 is accurate enough here.
    """
    output = load_known(double(student, case), case.matrices)(case.x)
    if matches(output, case.plain):
        assert_matches(output, case.plain, axes=AXES, rtol=1e-9, atol=1e-9)


@check(points=0, inputs=cases(), examples=1)
def test_takes_any_number_of_axes(student: Any, case: SwiGLUCase) -> None:
    """A tensor may have any number of axes, as in nn.Linear.

    Sees axes that are counted from the front. It carries no points: a batch has three axes here.
    """
    module = load_known(double(student, case), case.matrices)
    if not matches(module(case.x), case.plain):
        return
    for x, expected in (
        (case.x[0, 0], case.plain[0, 0]),
        (case.x[0], case.plain[0]),
        (case.x[None], case.plain[None]),
    ):
        assert_matches(module(x), expected, f"output for an input of shape {tuple(x.shape)}")
