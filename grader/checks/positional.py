"""Hidden checks of `positional`: sinusoidal positions (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
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
    assert_registers,
    gradients,
    matches,
)
from grader.checks.framework.inputs import Numbers, inputs, random_numbers, transposed
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_shape

AXES = ("batch", "length", "d_model")
TABLE_AXES = ("position", "column")
# Angles computed in float32 are off by 6e-4 at position 5000, and by 5e-6 at 50: short tables are
# judged with the usual 2e-5. The closest mistake, another base, moves a number by 0.1.
LONGEST = 40


def waves(max_len: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Return the table by the formula, computed column by column. (max_len, d_model)"""
    positions = torch.arange(max_len, dtype=torch.float64)
    table = torch.empty(max_len, d_model, dtype=torch.float64)
    for column in range(d_model):
        angle = positions / base ** (2 * (column // 2) / d_model)
        table[:, column] = angle.cos() if column % 2 else angle.sin()
    return table


@dataclass(frozen=True)
class Sentences:
    """A batch of token vectors, and the size of the table that is added to them."""

    x: Tensor
    max_len: int
    numbers: Numbers

    @property
    def d_model(self) -> int:
        """How many features a token has."""
        return self.x.size(-1)

    @cached_property
    def table(self) -> Tensor:
        """The table, for as many positions as the module may need. (max_len, d_model)"""
        return waves(self.max_len, self.d_model)

    @cached_property
    def other(self) -> Tensor:
        """Other token vectors of the same shape."""
        return self.numbers.normal("other", *self.x.shape, dtype=self.x.dtype)

    @cached_property
    def full(self) -> Tensor:
        """A sentence as long as the table."""
        return self.numbers.normal("full", 1, self.max_len, self.d_model, dtype=torch.float32)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.x.shape)


@inputs
def sentences(draw: st.DrawFn, numbers: Numbers) -> Sentences:
    """Draw sentences whose batch, length and even d_model all differ, and a longer table."""
    batch, length, pairs = draw(
        st.tuples(st.integers(2, 5), st.integers(6, 9), st.integers(5, 8)).filter(
            lambda sizes: sizes[1] != 2 * sizes[2]
        )
    )
    x = numbers.normal("x", batch, length, 2 * pairs, dtype=torch.float32)
    return Sentences(x, length + draw(st.integers(1, 20)), numbers)


def assert_adds_a_pattern(
    x: Tensor, output: Any, other_x: Tensor, other_output: Any, tolerance: float = 1e-4
) -> None:
    """Assert that both outputs are their inputs plus the same numbers, which are not all equal.

    No lazy answer does that. Whether the numbers are right is not checked here.
    """
    for result in (output, other_output):
        assert_shape(result, dict(zip(AXES, x.shape, strict=True)))
    pattern, again = output.double() - x.double(), other_output.double() - other_x.double()
    assert_matches(
        again,
        pattern,
        "output minus its input",
        axes=AXES,
        atol=tolerance,
        sides=("one input", "another input"),
        help="The same numbers should be added to every input. Do you change x in any other way?",
    )
    if (pattern - pattern[:1, :1]).abs().max().item() < 0.1:
        raise Mismatch("Your output hardly depends on the position of a token.")


def is_waves(table: Any, max_len: int, d_model: int) -> bool:
    """Return whether this is a table of pairs (sin, cos) that change from row to row."""
    if not isinstance(table, Tensor) or table.shape != (max_len, d_model) or table.is_complex():
        return False
    table = table.double()
    radius = table[:, 0::2].square() + table[:, 1::2].square()
    moves = (table[1:] - table[:-1]).abs().amax(-1)
    return bool(((radius - 1).abs() < 1e-3).all() and (moves > 1e-2).all())


@check(points=2, inputs=(st.integers(3, LONGEST), st.integers(2, 8)), examples=4)
def test_the_table_follows_the_formula(student: Any, max_len: int, pairs: int) -> None:
    """Column 2i of the table is sin(pos / 10000^(2i/d_model)), column 2i + 1 the cosine.

    Sees a wrong exponent, a cosine with an angle of its own, all sines before all cosines.
    """
    table = student.sinusoidal_table(max_len, 2 * pairs)
    expected = waves(max_len, 2 * pairs)
    assert_matches(table, expected, "sinusoidal_table", axes=TABLE_AXES)


@check(
    points=1,
    inputs=(
        st.integers(2, LONGEST),
        st.integers(2, 9),
        st.sampled_from((10.0, 50.0, 777.0, 50000.0)),
    ),
    examples=3,
)
def test_the_table_has_any_width_and_base(
    student: Any, max_len: int, width: int, base: float
) -> None:
    """The table may have an odd number of columns, a single row or another base; it is float32.

    Sees a crash or a shape that is off by one for an odd d_model, and a base written into the code.
    """
    for rows, columns, number in ((max_len, 2 * width - 1, base), (max_len, 1, base), (1, 5, base)):
        table = student.sinusoidal_table(rows, columns, number)
        name = f"sinusoidal_table({rows}, {columns}, {number})"
        assert_matches(table, waves(rows, columns, number), name, axes=TABLE_AXES)
        assert_dtype(table, torch.float32, name)
    module = student.PositionalEncoding(2 * width - 1, 0.0, max_len).eval()
    added = module(torch.zeros(1, max_len, 2 * width - 1))
    subject = f"output of PositionalEncoding({2 * width - 1}) for zeros"
    assert_matches(added, waves(max_len, 2 * width - 1)[None], subject, axes=AXES)
    table = student.sinusoidal_table(max_len=max_len, d_model=2 * width, base=base)
    assert_matches(table, waves(max_len, 2 * width, base), "sinusoidal_table", axes=TABLE_AXES)


@check(points=1, inputs=(st.integers(8, LONGEST), st.integers(2, 8), st.integers(1, 5)), examples=4)
def test_a_step_is_a_rotation(student: Any, max_len: int, pairs: int, step: int) -> None:
    """A step of k positions rotates each pair of columns by the same angle, wherever it starts.

    Sees a sine and a cosine that do not share an angle. A wrong frequency passes: it costs points
    in another check.
    """
    table = student.sinusoidal_table(max_len, 2 * pairs)
    assert_shape(table, dict(zip(TABLE_AXES, (max_len, 2 * pairs), strict=True)))
    table = table.double()
    sine, cosine = table[:, 0::2], table[:, 1::2]
    ones = torch.ones_like(sine)
    squares = sine.square() + cosine.square()
    assert_matches(squares, ones, "sums sin² + cos² of the pairs", axes=("position", "pair"))
    turned = torch.stack(
        (
            sine[:-step] * cosine[step] + cosine[:-step] * sine[step],
            cosine[:-step] * cosine[step] - sine[:-step] * sine[step],
        ),
        dim=-1,
    ).flatten(-2)
    assert_matches(table[step:], turned, f"table {step} positions further on", axes=TABLE_AXES)
    if (table[1] - table[0]).abs().max().item() < 1e-2:
        raise Mismatch("In your table the rows of positions 0 and 1 are equal.")


@check(points=2, inputs=sentences(), examples=3)
def test_adds_the_row_of_each_position(student: Any, case: Sentences) -> None:
    """Every sentence of the batch gets the first rows of the table added, whatever its length.

    Sees positions counted along the batch, a length kept from the first call, a factor on the
    tokens, and rows other than those of the table.
    """
    table = student.sinusoidal_table(case.max_len, case.d_model)
    module = student.PositionalEncoding(case.d_model, 0.0, case.max_len).eval()
    own = table.double() if is_waves(table, case.max_len, case.d_model) else case.table
    for x in (case.x, case.x[:1], case.x[:, :1], case.x[1:, :4], case.full):
        output = module(x)
        # A mistake in the table itself costs points in the checks of the table.
        if not matches(output, x.double() + own[: x.size(1)]):
            assert_matches(output, x.double() + case.table[: x.size(1)], axes=AXES)


@check(points=1, inputs=(st.sampled_from((0.2, 0.3, 0.6)), random_numbers()), examples=1)
def test_dropout_acts_on_the_sum(student: Any, p: float, numbers: Numbers) -> None:
    """In training mode dropout acts on token plus position; in evaluation mode there is none.

    Sees dropout on the tokens alone or on the table alone, left out, left on, or with a fixed
    probability.
    """
    x, other_x = (numbers.normal(name, 4, 10, 16, dtype=torch.float32) for name in ("x", "other"))
    module = student.PositionalEncoding(16, dropout=0.0, max_len=12)
    output, without = module(x), module.eval()(x)
    assert_adds_a_pattern(x, without, other_x, module(other_x))
    assert_matches(output, without, "output in training with dropout 0", axes=AXES)
    for rate, module in (
        (p, student.PositionalEncoding(16, p, 12)),
        (0.1, student.PositionalEncoding(16)),
    ):
        module.eval()
        evaluated, again = module(x), module(x)
        module.train()
        trained = [module(x), module(x)]
        assert_matches(evaluated, without, "output in evaluation", axes=AXES)
        assert_matches(again, evaluated, "second output in evaluation", axes=AXES)
        assert_drops(trained, evaluated, rate)


@check(points=1, inputs=sentences(), examples=2)
def test_the_table_is_a_buffer(student: Any, case: Sentences) -> None:
    """The table is the buffer `pe`: it moves with the module and is not a parameter.

    Sees a table that is an ordinary attribute, which does not follow to another device, or that an
    optimiser would train.
    """
    module = student.PositionalEncoding(case.d_model, dropout=0.0, max_len=case.max_len).eval()
    assert_adds_a_pattern(case.x, module(case.x), case.other, module(case.other))
    assert_registers(module, {}, "PositionalEncoding")
    if "pe" not in module.buffers():
        raise Mismatch("PositionalEncoding has no buffer `pe`.", help="See register_buffer.")
    left = module.stay_behind()
    if left:
        names = ", ".join(f"`{name}`" for name in left)
        raise Mismatch(f'`module.to("meta")` does not move {names}.')


@check(points=1, inputs=sentences(), examples=2)
def test_works_on_any_input(student: Any, case: Sentences) -> None:
    """Any memory layout and dtype works, gradients flow through, and the input is not modified.

    Sees `x += …`, which modifies the caller's tensor, a `detach`, a table that keeps its own dtype,
    and a module that cannot be copied.
    """
    settings = student.global_settings()
    module = student.PositionalEncoding(case.d_model, dropout=0.0, max_len=case.max_len).eval()
    x = transposed(case.x)
    output, after = module.echo(x)
    assert_adds_a_pattern(case.x, output, case.other, module(case.other))
    assert_not_edited([x], after, ["x"])
    assert_matches(module.copy()(x), output, "output of a deep copy", axes=AXES)

    leaf = case.x.clone().requires_grad_()
    (result,) = gradients(module(leaf), [leaf], case.cotangent)
    assert_gradients([result], [case.cotangent], ["x"])

    assert_dtype(output, torch.float32)
    for dtype, tolerance in ((torch.float64, 1e-4), (torch.bfloat16, 6e-2)):
        low, other_x = case.x.to(dtype), case.other.to(dtype)
        module.to(dtype)
        output, other_output = module(low), module(other_x)
        if dtype is torch.bfloat16:  # float64 may come back as float32
            assert_dtype(output, dtype, f"output for {dtype} input")
        assert_adds_a_pattern(low, output, other_x, other_output, tolerance)
    if student.global_settings() != settings:
        raise Mismatch("Your code changes a global setting of torch.")


@check(points=1, inputs=(st.integers(2, 6), random_numbers()), examples=1)
def test_refuses_what_is_too_long(student: Any, max_len: int, numbers: Numbers) -> None:
    """A sentence longer than the table raises ValueError, one exactly as long does not.

    Sees a table of a single row, which silently broadcasts over any length, and a maximal length
    written into the code: max_len may be more than the default of 5000.
    """
    x, other_x = (
        numbers.normal(name, 1, max_len, 2, dtype=torch.float32) for name in ("x", "other")
    )
    module = student.PositionalEncoding(2, 0.0, max_len).eval()
    assert_adds_a_pattern(x, module(x), other_x, module(other_x))
    for longest, other_module in (
        (max_len, module),
        (1, student.PositionalEncoding(2, 0.0, 1).eval()),
        (5000, student.PositionalEncoding(2, 0.0).eval()),
        (5001, student.PositionalEncoding(2, 0.0, 5001).eval()),
    ):
        shape = {"batch": 1, "length": longest, "d_model": 2}
        assert_shape(other_module(torch.zeros(1, longest, 2)), shape)
        too_long = torch.zeros(1, longest + 1, 2)
        reason = f"{longest + 1} tokens are too many for max_len={longest}"
        assert_refuses(ValueError, partial(other_module, too_long), reason)


@check(points=0, inputs=sentences(), examples=1)
def test_keeps_float64(student: Any, case: Sentences) -> None:
    """Tokens in float64 keep their accuracy.

    Sees an addition in float32. It carries no points: float32 is accurate enough.
    """
    module = student.PositionalEncoding(case.d_model, 0.0, case.max_len).to(torch.float64).eval()
    x, rounded = case.x.double() + 1e-9, case.x.double()
    output, other_output = module(x), module(rounded)
    if matches(output, other_output):
        subject = "difference of two outputs"
        assert_matches(output - other_output, x - rounded, subject, axes=AXES, rtol=1e-5)
