"""Hidden checks of `sublayer`: residual sum, dropout and norm (Vaswani et al. 2017, 3.1 and 5.4).

The sublayer is a stand-in, `x ↦ x · scale + shift`, so that nothing else can be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_changes,
    assert_dropped_at_random,
    assert_gradients,
    assert_not_edited,
    assert_registers,
    gradients,
    pull_back,
)
from grader.checks.framework.inputs import Numbers, distinct_sizes, inputs, transposed
from grader.checks.framework.precision import (
    assert_same_dtype,
    assert_settings_kept,
    either_precision,
)
from grader.feedback.comparison import assert_matches, assert_shape
from grader.remote.proxy import RemoteModule
from grader.remote.wire import Affine

AXES = ("batch", "length", "d_model")


@dataclass(frozen=True)
class SublayerCase:
    """A batch of tokens, the weights of the norm and a stand-in for the sublayer."""

    sizes: tuple[int, int, int]
    numbers: Numbers
    norm_first: bool
    dtype: torch.dtype = torch.float64
    magnitude: float = 1.0
    offset: float = 0.0

    def normal(self, name: str, *shape: int) -> Tensor:
        """Return random numbers for one purpose."""
        return self.numbers.normal(name, *shape, dtype=self.dtype)

    @cached_property
    def narrow(self) -> SublayerCase:
        """Return the same case in float32."""
        return replace(self, dtype=torch.float32)

    @cached_property
    def magnitudes(self) -> list[SublayerCase]:
        """Return the same case with larger and smaller tokens, down to where `eps` matters."""
        return [replace(self, magnitude=magnitude) for magnitude in (1.0, 1e-2, 1e-3, 1e3)]

    @cached_property
    def far(self) -> SublayerCase:
        """Return the same case in float32, with tokens around a thousand."""
        return replace(self, dtype=torch.float32, offset=1000.0)

    @cached_property
    def x(self) -> Tensor:
        """Return the tokens. (batch, length, d_model)"""
        return self.normal("x", *self.sizes) * self.magnitude + self.offset

    @cached_property
    def weights(self) -> dict[str, Tensor]:
        """Return scale and shift of the norm."""
        size = self.sizes[-1]
        return {
            "norm.weight": 1 + 0.3 * self.normal("weight", size),
            "norm.bias": self.normal("bias", size),
        }

    @cached_property
    def sublayer(self) -> Affine:
        """Return the stand-in for the sublayer."""
        shape = self.sizes[1:]
        if self.offset and not self.norm_first:  # scaled, x would hide in what is added to it
            return Affine(self.normal("scale", *shape) * 0.0, self.normal("shift", *shape))
        return Affine(self.normal("scale", *shape), self.normal("shift", *shape) * self.magnitude)

    def formula(self, x: Tensor, weights: dict[str, Tensor], sublayer: Affine) -> Tensor:
        """Return what torch computes, without dropout."""
        if self.norm_first:
            return x + sublayer(self.norm(x, weights))
        return self.norm(x + sublayer(x), weights)

    def norm(self, x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        """Apply torch's own layer norm."""
        return F.layer_norm(x, x.shape[-1:], weights["norm.weight"], weights["norm.bias"])

    @cached_property
    def output(self) -> Tensor:
        """Return the expected output. (batch, length, d_model)"""
        return self.wide(self.sublayer)

    @cached_property
    def silent_output(self) -> Tensor:
        """Return the expected output for a sublayer that returns zeros."""
        return self.wide(Affine(0.0, 0.0))

    def wide(self, sublayer: Affine) -> Tensor:
        """Apply the formula in float64."""
        parts = (sublayer.scale, sublayer.shift)
        wide = Affine(*(part.double() if isinstance(part, Tensor) else part for part in parts))
        weights = {name: value.double() for name, value in self.weights.items()}
        return self.formula(self.x.double(), weights, wide)

    @cached_property
    def cotangent(self) -> Tensor:
        """Return a random weight for every number of the output, to pull gradients back from."""
        return self.normal("cotangent", *self.sizes)

    @cached_property
    def gradients(self) -> tuple[Tensor, ...]:
        """Return the gradients of x, weight and bias."""
        x, weights = self.leaves()
        output = self.formula(x, weights, self.sublayer)
        return pull_back(output, [x, *weights.values()], self.cotangent)

    def leaves(self) -> tuple[Tensor, dict[str, Tensor]]:
        """Return x and the weights, as tensors that gradients flow back to."""
        weights = {name: value.clone().requires_grad_() for name, value in self.weights.items()}
        return self.x.clone().requires_grad_(), weights

    def module(self, student: Any, weights: dict[str, Tensor] | None = None) -> RemoteModule:
        """Return the student's connection without dropout, with these weights, in evaluation."""
        module = student.SublayerConnection(self.sizes[-1], dropout=0.0, norm_first=self.norm_first)
        return self.ready(module, weights)

    def ready(self, module: RemoteModule, weights: dict[str, Tensor] | None = None) -> RemoteModule:
        """Return the module in the case's dtype, with these weights, in evaluation mode."""
        return module.to(self.dtype).load(weights or self.weights).eval()


@inputs
def cases(draw: st.DrawFn, numbers: Numbers, norm_first: bool) -> SublayerCase:
    """Draw cases whose three sizes differ."""
    batch, length, d_model = draw(distinct_sizes(3))
    return SublayerCase((batch, length, d_model + 4), numbers, norm_first)


def assert_agrees(student: Any, case: SublayerCase) -> None:
    """Check the output against the formula, for tokens of any magnitude."""
    module = case.module(student)
    for magnitude in case.magnitudes:
        subject = f"output for an x of about {magnitude.magnitude:g}"
        assert_matches(
            module(magnitude.x, magnitude.sublayer), magnitude.output, subject, axes=AXES
        )
    # Measured over 300 cases: right code is off by up to 1e-3, E[x²] - E[x]² by 4e-2 and more.
    far = case.far
    subject = "output for an x around 1000, in float32"
    help = "A difference of large numbers keeps few digits: subtract the mean, then square."
    result = far.module(student)(far.x, far.sublayer)
    assert_matches(result, far.output, subject, axes=AXES, help=help, rtol=0, atol=1e-2)


@check(points=1, inputs=cases(norm_first=False), examples=2)
@either_precision
def test_post_norm_agrees_with_torch(student: Any, case: SublayerCase) -> None:
    """Without `norm_first`, the output is norm(x + sublayer(x)).

    Sees a residual sum that is missing or comes after the norm, pre-norm as the default, and, in a
    norm written anew, a variance computed as E[x²] - E[x]².
    """
    assert_agrees(student, case)
    default = case.ready(student.SublayerConnection(case.sizes[-1]))
    assert_matches(default(case.x, case.sublayer), case.output, axes=AXES)


@check(points=1, inputs=cases(norm_first=True), examples=2)
@either_precision
def test_pre_norm_agrees_with_torch(student: Any, case: SublayerCase) -> None:
    """With `norm_first`, the output is x + sublayer(norm(x)).

    Sees the normalised x in the residual sum, a second norm after it, and `norm_first` ignored.
    """
    assert_agrees(student, case)


@check(points=1, inputs=(cases(norm_first=False), cases(norm_first=True)), examples=1)
@either_precision
def test_dropout_acts_on_what_the_sublayer_returns(
    student: Any, post: SublayerCase, pre: SublayerCase
) -> None:
    """During training, dropout acts on each number that the sublayer returns, and nowhere else.

    Sees dropout on the sum, on x, on the norm's result, of another probability, or active in
    evaluation.
    """
    _check_pre_norm_dropout(student, pre)
    # Everything is dropped. Not 1, since a dropout made by hand may divide by 1 - p.
    module = post.ready(student.SublayerConnection(post.sizes[-1], 1 - 1e-14, False))
    dropped = module.train()(post.x, post.sublayer)
    assert_matches(dropped, post.silent_output, "output with everything dropped", axes=AXES)
    free = post.module(student)
    evaluated = free(post.x, post.sublayer)
    for subject, result in (
        ("output in evaluation", module.eval()(post.x, post.sublayer)),
        ("output in training with dropout=0", free.train()(post.x, post.sublayer)),
    ):
        assert_matches(result, evaluated, subject, axes=AXES)


def _check_pre_norm_dropout(student: Any, case: SublayerCase) -> None:
    # The sublayer returns 3 everywhere; a quarter of that is dropped, or by default a tenth.
    shape = (4, 8, 16)
    x = torch.round(2 * case.normal("large", *shape))
    ones, three = torch.ones(shape[-1], dtype=case.dtype), Affine(0.0, 3.0)
    for share, made in (
        (0.25, student.SublayerConnection(shape[-1], 0.25, True)),
        (0.1, student.SublayerConnection(shape[-1], norm_first=True)),
    ):
        module = case.ready(made, {"norm.weight": ones, "norm.bias": ones})
        assert_matches(module(x, three), x + 3, "output in evaluation", axes=AXES)
        output = module.train()(x, three)
        assert_shape(output, dict(zip(AXES, shape, strict=True)))
        dropped = (output - x).abs() < 1
        expected = torch.where(dropped, x, x + 3 / (1 - share))
        assert_matches(output, expected, f"output in training with dropout {share}", axes=AXES)
        assert_dropped_at_random(dropped, share, "what the sublayer returns")


@check(points=1, inputs=(cases(norm_first=False), cases(norm_first=True)), examples=1)
@either_precision
def test_parameters_and_gradients(student: Any, post: SublayerCase, pre: SublayerCase) -> None:
    """The parameters are those of `norm`; gradients flow back to them and to x as in torch.

    Sees tensors that are not parameters, parameters that do not belong here, and a graph cut by
    detach, .data or no_grad.
    """
    for case in (post, pre):
        x, weights = case.leaves()
        module = case.module(student, weights)
        shapes = {name: tuple(value.shape) for name, value in weights.items()}
        assert_registers(module, shapes, "SublayerConnection")
        result = gradients(module(x, case.sublayer), [x, *weights.values()], case.cotangent)
        assert_gradients(result, case.gradients, ("x", *weights))


@check(points=1, inputs=(cases(norm_first=False), cases(norm_first=True)), examples=1)
def test_works_on_any_input(student: Any, post: SublayerCase, pre: SublayerCase) -> None:
    """Any length, memory layout and dtype works, copies work, and x is not modified.

    Sees `+=`, or dropout in place, on the caller's x or on what the sublayer returned (which may be
    x itself), sizes kept from an earlier call, and an output of another dtype.
    """
    settings = student.global_settings()
    for case in (post, pre):
        _check_any_input(student, case)
    assert_settings_kept(settings, student.global_settings())


@either_precision
def _check_any_input(student: Any, case: SublayerCase) -> None:
    module = case.module(student)
    shift = case.normal("shift", case.sizes[-1])
    double = Affine(2.0, shift)
    output = module(case.x, double)
    assert_shape(output, dict(zip(AXES, case.sizes, strict=True)))
    for part in ((slice(1), slice(None)), (slice(None), slice(1)), (slice(1, 2), slice(1, 2))):
        result = module(case.x[part], double)
        assert_matches(result, output[part], "output of a part of the batch", axes=AXES)
    x = transposed(case.x)
    result, (after, *_) = module.echo(x, Affine(2.0, 1.0))
    plain = module(case.x, Affine(2.0, 1.0))
    assert_matches(result, plain, "output for non-contiguous x", axes=AXES)
    assert_not_edited([x], [after], ["x"])
    _, (after, *_) = module.echo(x, Affine())
    assert_not_edited([x], [after], ["x"])
    dropping = student.SublayerConnection(case.sizes[-1], 0.5, norm_first=case.norm_first)
    _, (after, *_) = case.ready(dropping).train().echo(x, Affine())
    assert_not_edited([x], [after], ["x"])
    assert_matches(module.copy()(case.x, double), output, "output of a deep copy", axes=AXES)
    # An output that changes with neither the sublayer nor the norm is not computed from them.
    shifted = module(case.x, Affine(-2.0, shift))
    assert_changes(shifted, output, "Your output is the same for a different sublayer.")
    changed = {name: value + 1 for name, value in case.weights.items()}
    shifted = case.module(student, changed)(case.x, double)
    assert_changes(
        shifted, output, "Your output is the same for a different scale and shift in `norm`."
    )

    def in_dtype(dtype: torch.dtype) -> Any:
        converted = module.to(dtype).load(case.weights)
        return converted(case.x.to(dtype), Affine(2.0, shift.to(dtype)))

    assert_same_dtype(in_dtype, output)


@check(points=0, inputs=(cases(norm_first=False), cases(norm_first=True)), examples=1)
def test_keeps_float64(student: Any, post: SublayerCase, pre: SublayerCase) -> None:
    """In float64 the output has the accuracy of float64.

    Sees a `.float()` on the way. It carries no points: float32 is accurate enough here.
    """
    for case in (post, pre):
        result = case.module(student)(case.x, case.sublayer)
        assert_matches(result, case.output, axes=AXES, rtol=1e-9, atol=1e-9)
