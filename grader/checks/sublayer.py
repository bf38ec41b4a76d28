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
from grader.feedback.comparison import Mismatch, assert_matches, assert_shape
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
        """Random numbers for one purpose."""
        return self.numbers.normal(name, *shape, dtype=self.dtype)

    @cached_property
    def narrow(self) -> SublayerCase:
        """The same in float32."""
        return replace(self, dtype=torch.float32)

    @cached_property
    def magnitudes(self) -> list[SublayerCase]:
        """The same with larger and smaller tokens, down to where `eps` counts."""
        return [replace(self, magnitude=magnitude) for magnitude in (1.0, 1e-2, 1e-3, 1e3)]

    @cached_property
    def far(self) -> SublayerCase:
        """The same in float32, with tokens around a thousand."""
        return replace(self, dtype=torch.float32, offset=1000.0)

    @cached_property
    def x(self) -> Tensor:
        """The tokens. (batch, length, d_model)"""
        return self.normal("x", *self.sizes) * self.magnitude + self.offset

    @cached_property
    def weights(self) -> dict[str, Tensor]:
        """Scale and shift of the norm."""
        size = self.sizes[-1]
        return {
            "norm.weight": 1 + 0.3 * self.normal("weight", size),
            "norm.bias": self.normal("bias", size),
        }

    @cached_property
    def sublayer(self) -> Affine:
        """The stand-in."""
        shape = self.sizes[1:]
        if self.offset and not self.norm_first:  # x's own size would be that of what is added to it
            return Affine(self.normal("scale", *shape) * 0.0, self.normal("shift", *shape))
        return Affine(self.normal("scale", *shape), self.normal("shift", *shape) * self.magnitude)

    def formula(self, x: Tensor, weights: dict[str, Tensor], sublayer: Affine) -> Tensor:
        """What torch makes of it, without dropout."""
        if self.norm_first:
            return x + sublayer(self.norm(x, weights))
        return self.norm(x + sublayer(x), weights)

    def norm(self, x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        """Torch's own layer norm."""
        return F.layer_norm(x, x.shape[-1:], weights["norm.weight"], weights["norm.bias"])

    @cached_property
    def output(self) -> Tensor:
        """What should come out. (batch, length, d_model)"""
        return self.wide(self.sublayer)

    @cached_property
    def silent_output(self) -> Tensor:
        """What should come out if the sublayer finds nothing."""
        return self.wide(Affine(0.0, 0.0))

    def wide(self, sublayer: Affine) -> Tensor:
        """The formula in float64."""
        parts = (sublayer.scale, sublayer.shift)
        wide = Affine(*(part.double() if isinstance(part, Tensor) else part for part in parts))
        weights = {name: value.double() for name, value in self.weights.items()}
        return self.formula(self.x.double(), weights, wide)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.normal("cotangent", *self.sizes)

    @cached_property
    def gradients(self) -> tuple[Tensor, ...]:
        """The gradients of x, weight and bias."""
        x, weights = self.leaves()
        output = self.formula(x, weights, self.sublayer)
        return pull_back(output, [x, *weights.values()], self.cotangent)

    def leaves(self) -> tuple[Tensor, dict[str, Tensor]]:
        """x and the weights, as tensors that gradients flow back to."""
        weights = {name: value.clone().requires_grad_() for name, value in self.weights.items()}
        return self.x.clone().requires_grad_(), weights

    def module(self, student: Any, weights: dict[str, Tensor] | None = None) -> RemoteModule:
        """The student's connection without dropout, with these weights, in evaluation mode."""
        module = student.SublayerConnection(self.sizes[-1], dropout=0.0, norm_first=self.norm_first)
        return self.ready(module, weights)

    def ready(self, module: RemoteModule, weights: dict[str, Tensor] | None = None) -> RemoteModule:
        """The module in the case's dtype, with these weights, in evaluation mode."""
        return module.to(self.dtype).load(weights or self.weights).eval()


@inputs
def cases(draw: st.DrawFn, numbers: Numbers, norm_first: bool) -> SublayerCase:
    """Cases whose three sizes differ."""
    batch, length, d_model = draw(distinct_sizes(3))
    return SublayerCase((batch, length, d_model + 4), numbers, norm_first)


def assert_agrees(student: Any, case: SublayerCase) -> None:
    """The output is the formula's, for tokens of any magnitude."""
    module = case.module(student)
    for one in case.magnitudes:
        what = f"output for x of about {one.magnitude:g}"
        assert_matches(module(one.x, one.sublayer), one.output, what, axes=AXES)
    # Measured over 300 cases: right code is off by up to 1e-3, E[x²] - E[x]² by 4e-2 and more.
    far = case.far
    what = "output for x around 1000, in float32"
    help = "A difference of two large numbers keeps few digits: take the mean off, then square."
    found = far.module(student)(far.x, far.sublayer)
    assert_matches(found, far.output, what, axes=AXES, help=help, rtol=0, atol=1e-2)


@check(points=1, inputs=cases(norm_first=False), examples=2)
@either_precision
def test_post_norm_agrees_with_torch(student: Any, case: SublayerCase) -> None:
    """Without `norm_first`, the output is norm(x + sublayer(x)).

    Sees a residual sum that is missing, or is taken after the norm, pre-norm as the default, and,
    in a norm written anew, a variance as E[x²] - E[x]².
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
    """While training, single features of what the sublayer returns are dropped, and nothing else.

    Sees dropout on the sum, on x, on the result of the norm, of another probability, or left on in
    evaluation.
    """
    _check_pre_norm_dropout(student, pre)
    # All is dropped. Not 1, since a dropout made by hand may divide by 1 - p.
    module = post.ready(student.SublayerConnection(post.sizes[-1], 1 - 1e-14, False))
    dropped = module.train()(post.x, post.sublayer)
    assert_matches(dropped, post.silent_output, "output with everything dropped", axes=AXES)
    free = post.module(student)
    evaluated = free(post.x, post.sublayer)
    for what, found in (
        ("output in evaluation", module.eval()(post.x, post.sublayer)),
        ("output in training with dropout=0", free.train()(post.x, post.sublayer)),
    ):
        assert_matches(found, evaluated, what, axes=AXES)


def _check_pre_norm_dropout(student: Any, case: SublayerCase) -> None:
    # The sublayer returns 3 throughout, and a quarter of that is dropped, or by default a tenth.
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
        # Of 512 features, seven standard deviations more or less.
        found = dropped.double().mean().item()
        if abs(found - share) > 7 * (share * (1 - share) / dropped.numel()) ** 0.5:
            raise Mismatch(
                f"With dropout {share}, {found:.0%} of what the sublayer returns is dropped."
            )
        if any(torch.equal(dropped, dropped.roll(1, axis)) for axis in range(3)):
            raise Mismatch("Dropout takes whole rows of numbers away, not each number by itself.")


@check(points=1, inputs=(cases(norm_first=False), cases(norm_first=True)), examples=1)
@either_precision
def test_parameters_and_gradients(student: Any, post: SublayerCase, pre: SublayerCase) -> None:
    """The parameters are those of `norm`, and gradients flow to them and to x as through torch.

    Sees tensors that are no parameters, parameters that do not belong here, and a graph that is
    cut by detach, .data or no_grad.
    """
    for case in (post, pre):
        x, weights = case.leaves()
        module = case.module(student, weights)
        shapes = {name: tuple(value.shape) for name, value in weights.items()}
        assert_registers(module, shapes, "SublayerConnection")
        found = gradients(module(x, case.sublayer), [x, *weights.values()], case.cotangent)
        assert_gradients(found, case.gradients, ("x", *weights))


@check(points=1, inputs=(cases(norm_first=False), cases(norm_first=True)), examples=1)
def test_works_on_any_input(student: Any, post: SublayerCase, pre: SublayerCase) -> None:
    """Any length, memory layout and dtype will do, copies work, and x stays as it is.

    Sees `+=` on the caller's x, or on what the sublayer returned, which may be x itself, sizes that
    are kept from an earlier call, and an output in another dtype.
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
        found = module(case.x[part], double)
        assert_matches(found, output[part], "output of a part of the batch", axes=AXES)
    x = transposed(case.x)
    found, (after, *_) = module.echo(x, Affine(2.0, 1.0))
    plain = module(case.x, Affine(2.0, 1.0))
    assert_matches(found, plain, "output for x that is not contiguous", axes=AXES)
    assert_not_edited([x], [after], ["x"])
    _, (after, *_) = module.echo(x, Affine())
    assert_not_edited([x], [after], ["x"])
    assert_matches(module.copy()(case.x, double), output, "output of a deep copy", axes=AXES)
    # What changes with neither the sublayer nor the norm does not come from them.
    other = module(case.x, Affine(-2.0, shift))
    assert_changes(other, output, "Another sublayer changes nothing.")
    changed = {name: value + 1 for name, value in case.weights.items()}
    other = case.module(student, changed)(case.x, double)
    assert_changes(other, output, "Another scale and shift in `norm` change nothing.")

    def in_dtype(dtype: torch.dtype) -> Any:
        converted = module.to(dtype).load(case.weights)
        return converted(case.x.to(dtype), Affine(2.0, shift.to(dtype)))

    assert_same_dtype(in_dtype, output)


@check(points=0, inputs=(cases(norm_first=False), cases(norm_first=True)), examples=1)
def test_keeps_float64(student: Any, post: SublayerCase, pre: SublayerCase) -> None:
    """In float64 the output has the accuracy of float64.

    Sees a `.float()` on the way. It costs nothing: float32 is accurate enough here.
    """
    for case in (post, pre):
        found = case.module(student)(case.x, case.sublayer)
        assert_matches(found, case.output, axes=AXES, rtol=1e-9, atol=1e-9)
