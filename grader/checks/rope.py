"""Hidden checks of `rope`: rotary positions (Su et al. 2021, RoFormer)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import Numbers, check, inputs
from grader.checks.framework.assertions import (
    assert_gradients,
    assert_not_edited,
    assert_refuses,
    gradients,
    matches,
)
from grader.checks.framework.inputs import distinct_sizes
from grader.checks.framework.precision import assert_settings_kept
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape

AXES = ("batch", "head", "position", "feature")
FAR = 1000  # a position that bfloat16 rounds to within a few radians
ANGLE_AXES = ("position", "pair")
LONGEST = 40


def angles_by_formula(head_dim: int, length: int, base: float = 10000.0) -> Tensor:
    """Return pos / base^(2i / head_dim), computed pair by pair. (length, head_dim // 2)"""
    positions = torch.arange(length, dtype=torch.float64)
    columns = [positions / base ** (2 * pair / head_dim) for pair in range(head_dim // 2)]
    return torch.stack(columns, dim=-1)


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """Rotate each pair of features as a complex number times one of length one, shaped as `x`."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@dataclass(frozen=True)
class RotaryCase:
    """Queries in heads, and angles of their own for every position and pair, in float64."""

    x: Tensor
    angles: Tensor
    numbers: Numbers

    @cached_property
    def output(self) -> Tensor:
        """The rotated queries. (batch, head, position, feature)"""
        return turned(self.x, self.angles)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.x.shape)


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> RotaryCase:
    """Draw a case whose batch, heads, length and features all differ, with two or more pairs.

    The angles belong to no positions, so they cannot be computed anew. They are spread over one and
    a half turns.
    """
    batch, heads, length, pairs = draw(distinct_sizes(4, low=2, high=7))
    sizes = (batch, heads, length + 8, 2 * pairs)
    angles = 3.0 * numbers.normal("angles", length + 8, pairs).clamp(-3, 3)
    return RotaryCase(numbers.normal("x", *sizes), angles, numbers)


def assert_turns(turn: Callable[[Tensor, Tensor], Any], case: RotaryCase) -> Tensor:
    """Assert that angles of zero change nothing, others change x, and tokens keep their lengths.

    No lazy answer passes. Which features form a pair, and in which direction they rotate, is not
    checked here. Returns the output.
    """
    shape = dict(zip(AXES, case.x.shape, strict=True))
    still, output = turn(case.x, torch.zeros_like(case.angles)), turn(case.x, case.angles)
    assert_shape(output, shape)
    assert_matches(still, case.x, "output for angles of zero", axes=AXES)
    if matches(output, case.x):
        raise Mismatch("Your output is equal to x, whatever the angles are.")
    lengths, wanted = output.double().norm(dim=-1), case.x.norm(dim=-1)
    assert_matches(
        lengths,
        wanted,
        "length of the rotated tokens",
        axes=AXES[:3],
        atol=1e-3,
        rtol=1e-3,
        help="A rotation keeps lengths. Do both features of a pair have the same angle?",
    )
    result: Tensor = output
    return result


@check(
    points=2,
    inputs=(st.integers(3, LONGEST), st.integers(2, 8)),
    examples=4,
)
def test_the_angles_follow_the_formula(student: Any, length: int, pairs: int) -> None:
    """The angle of position pos and pair i is pos / 10000^(2i/head_dim).

    Sees a wrong exponent, positions that start at 1, a product instead of the division.
    """
    result = student.rotary_angles(2 * pairs, length)
    _assert_angles(result, angles_by_formula(2 * pairs, length), f"({2 * pairs}, {length})")


def _assert_angles(actual: Any, expected: Tensor, arguments: str) -> None:
    # Each angle is compared on its own, since the slowest are thousands of times smaller than the
    # fastest. Right code is off by 1e-6 of an angle in float32.
    subject = f"rotary_angles{arguments}"
    assert_matches(actual, expected, subject, axes=ANGLE_AXES, rtol=1e-5, atol=1e-12)


@check(
    points=1,
    inputs=(st.integers(2, LONGEST), st.integers(2, 9), st.sampled_from((10.0, 777.0, 50000.0))),
    examples=3,
)
def test_any_base_and_length(student: Any, length: int, pairs: int, base: float) -> None:
    """Any base works, and one position or thousands; an odd head_dim raises ValueError.

    Sees a base written into the code, a table of fixed length or of the first call's base, and a
    feature without a partner that is silently dropped.
    """
    for head_dim, rows, number in (
        (2 * pairs, length, base),
        (2 * pairs, length, 2 * base),
        (2, length, base),
        (2 * pairs, 1, base),
        (4, 3000, base),
    ):
        result = student.rotary_angles(head_dim, rows, number)
        expected = angles_by_formula(head_dim, rows, number)
        _assert_angles(result, expected, f"({head_dim}, {rows}, {number:g})")
    named = student.rotary_angles(head_dim=2 * pairs, length=length, base=base)
    expected = angles_by_formula(2 * pairs, length, base)
    _assert_angles(named, expected, f"({2 * pairs}, {length}, base={base:g})")
    for odd in (2 * pairs + 1, 1):
        reason = f"rotary_angles({odd}, {length}): {odd} features cannot be put in pairs"
        assert_refuses(ValueError, partial(student.rotary_angles, odd, length), reason)


@check(points=3, inputs=cases(), examples=4)
def test_each_pair_is_turned(student: Any, case: RotaryCase) -> None:
    """Features 2i and 2i + 1 rotate counter-clockwise together, by the angle of their position.

    Sees the first half paired with the second, the wrong direction, a missing sign, sine and cosine
    mixed up, and pairs that come out in another order.
    """
    output = student.apply_rotary(case.x[:1, :1], case.angles)
    help = "Which feature is the partner of feature 0? How far does the pair rotate, and which way?"
    assert_matches(output, case.output[:1, :1], axes=AXES, help=help)


@check(points=1, inputs=cases(), examples=3)
def test_any_number_of_axes(student: Any, case: RotaryCase) -> None:
    """Each sentence and head of a batch is rotated as it would be alone.

    Sees angles that run along the heads or the batch, and code for a fixed number of axes. Another
    layout of the pairs passes: it costs points in another check.
    """
    output = assert_turns(student.apply_rotary, case)
    for x, expected, axes in (
        (case.x[0], output[0], AXES[1:]),
        (case.x[1, 1], output[1, 1], AXES[2:]),
        (case.x[None], output[None], ("group", *AXES)),
    ):
        result = student.apply_rotary(x, case.angles)
        assert_matches(result, expected, f"output for shape {tuple(x.shape)}", axes=axes)


@check(points=1, inputs=cases(), examples=2)
def test_only_the_distance_counts(student: Any, case: RotaryCase) -> None:
    """A score depends on how far apart query and key are, not on where they are.

    Sees formulas that are not a rotation, and angles computed anew from position 0 instead of those
    given.
    """
    assert_turns(student.apply_rotary, case)
    length, head_dim = case.x.shape[2:]
    query, key = (row.expand(1, 1, length, head_dim) for row in case.x[0, 0, :2])
    for start in (0, 100):
        angles = angles_by_formula(head_dim, start + length)[start:]
        queries = student.apply_rotary(query.clone(), angles).double()
        keys = student.apply_rotary(key.clone(), angles).double()
        scores = (queries @ keys.transpose(-2, -1))[0, 0]
        assert_matches(
            scores[1:, 1:],
            scores[:-1, :-1],
            "scores",
            axes=("query", "key"),
            sides=("one position later", "here"),
            help="The same query and key, equally far apart, should have the same score.",
        )
        if (scores - scores[:, :1]).abs().max() < 1e-3 * scores.abs().max():
            raise Mismatch("Your scores do not depend on positions.")
        first = student.apply_rotary(query[:, :, :1].clone(), angles[:1]).double()
        assert_matches(first, queries[:, :, :1], f"token at position {start} alone", axes=AXES)


@check(points=1, inputs=cases(), examples=2)
def test_keeps_the_dtype(student: Any, case: RotaryCase) -> None:
    """The output has the dtype of x, whatever the dtype of the angles.

    Sees angles that turn float32 into float64, or bfloat16 into float32.
    """
    output = assert_turns(student.apply_rotary, case)
    # In bfloat16 right code is off by 0.03 for numbers up to 4.
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.1)):
        for angles in (case.angles, case.angles.float()):
            low = student.apply_rotary(case.x.to(dtype), angles)
            subject = f"output for {dtype} and angles of {angles.dtype}"
            assert_dtype(low, dtype, subject)
            assert_matches(low, output, subject, axes=AXES, rtol=tolerance, atol=tolerance)
    mixed = student.apply_rotary(case.x, case.angles.float())
    assert_matches(mixed, output, "output for angles of torch.float32", axes=AXES, atol=1e-4)


@check(points=1, inputs=cases(), examples=2)
def test_works_on_any_input(student: Any, case: RotaryCase) -> None:
    """Heads split by a transpose work, gradients flow, and no input is modified.

    Sees writing into slices of x, `view` on a tensor that is not contiguous, a detached graph, and
    changed global settings of torch.
    """
    settings = student.global_settings()
    output = assert_turns(student.apply_rotary, case)
    x = case.x.transpose(1, 2).contiguous().transpose(1, 2)
    result, after = student.apply_rotary.echo(x, case.angles)
    assert_matches(result, output, "output for x that is not contiguous", axes=AXES)
    assert_not_edited([x, case.angles], after, ["x", "angles"])
    leaf = case.x.clone().requires_grad_()
    (gradient,) = gradients(student.apply_rotary(leaf, case.angles), [leaf], case.cotangent)
    # The gradient of a rotation is the rotation back. The student's own is used, whatever its
    # pairs are.
    expected = student.apply_rotary(case.cotangent, -case.angles).double()
    assert_gradients([gradient], [expected], ["x"])
    assert_settings_kept(settings, student.global_settings())


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: RotaryCase) -> None:
    """Queries in float64 are rotated in float64.

    Sees a rotation in float32 or complex64. It carries no points: float32 is accurate enough here.
    """
    output = student.apply_rotary(case.x, case.angles)
    if matches(output, case.output):
        assert_matches(output, case.output, axes=AXES, rtol=1e-9, atol=1e-9)


@check(points=0, inputs=cases(), examples=1)
def test_far_positions_in_bfloat16(student: Any, case: RotaryCase) -> None:
    """In bfloat16 a token at position 1000 is rotated by its own angle.

    Sees angles that are rounded to bfloat16 before the sine is taken: there they are off by more
    than a radian. It carries no points: what bfloat16 loses costs none anywhere.
    """
    length, head_dim = case.x.shape[2:]
    far = angles_by_formula(head_dim, FAR + length)[FAR:]
    if not matches(student.apply_rotary(case.x, case.angles), case.output):
        return
    result = student.apply_rotary(case.x.to(torch.bfloat16), far.float())
    help = "In which dtype do you take the sine and the cosine: in that of the angles, or of x?"
    assert_matches(
        result, turned(case.x, far), f"output at position {FAR}", axes=AXES, rtol=0.1, atol=0.1,
        help=help,
    )  # fmt: skip
