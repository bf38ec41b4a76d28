"""Public tests of positional. Run them with: pytest exercises/test_positional.py."""

from math import cos, sin

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.positional import PositionalEncoding, sinusoidal_table
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_dtype,
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_shape,
    assert_unchanged,
)

AXES = ("position", "column")


def test_table_by_hand() -> None:
    """Four columns, worked out with a pencil.

    The angles are pos and pos / 100, because 10000 ** (2 / 4) is 100.
    """
    expected = torch.tensor(
        [
            [0.0, 1.0, 0.0, 1.0],
            [sin(1), cos(1), sin(0.01), cos(0.01)],
            [sin(2), cos(2), sin(0.02), cos(0.02)],
        ]
    )
    assert_matches(
        sinusoidal_table(3, 4),
        expected,
        "sinusoidal_table(3, 4)",
        axes=AXES,
        help="Print your angles: at position 1 they are 1 and 0.01. Which columns do you fill?",
        asks={
            "Which columns hold the sines, and which the cosines?": expected[:, [1, 0, 3, 2]],
            "Do sines and cosines alternate, or does each fill one half?": expected[
                :, [0, 2, 1, 3]
            ],
            "Your index already counts in steps of two. Is it i or 2i?": waves(1.0, 0.0001),
            "Is the exponent 2i / d_model, or half of it?": waves(1.0, 0.1),
            "Do the positions begin at 0 or at 1?": waves(1.0, 0.01, start=1),
            "Does each cosine have the same angle as its sine?": torch.stack(
                [torch.tensor([sin(p), cos(p / 10), sin(p / 100), cos(p / 1000)]) for p in range(3)]
            ),
            "Is the position divided by the power of the base, or multiplied by it?": waves(
                1.0, 100.0
            ),
        },
    )


def waves(*frequencies: float, start: int = 0) -> torch.Tensor:
    """Return the table of three positions whose angles are the position times these."""
    rows = [
        [wave(p * f) for f in frequencies for wave in (sin, cos)] for p in range(start, start + 3)
    ]
    return torch.tensor(rows)


def test_an_odd_number_of_columns() -> None:
    """With five columns the last one is a sine without a cosine.

    There are three angles then, and the last has the exponent 4 / 5.
    """
    table = sinusoidal_table(3, 5)
    assert_shape(table, {"position": 3, "column": 5}, "sinusoidal_table(3, 5)")
    angle = 10000 ** (-4 / 5)
    expected = torch.tensor([0.0, sin(angle), sin(2 * angle)])
    assert_matches(table[:, 4], expected, "sinusoidal_table(3, 5)[:, 4]", axes=AXES[:1])


@given(max_len=st.integers(1, 20), pairs=st.integers(1, 4))
def test_sine_and_cosine_of_the_same_angle(max_len: int, pairs: int) -> None:
    """In each pair of columns the squares sum to one.

    sin² + cos² is 1 if both have the same angle.
    """
    table = sinusoidal_table(max_len, 2 * pairs)
    assert_shape(table, {"position": max_len, "column": 2 * pairs}, "sinusoidal_table")
    sums = table[:, 0::2] ** 2 + table[:, 1::2] ** 2
    expected = torch.ones(max_len, pairs)
    assert_matches(
        sums, expected, "sinusoidal_table, squared and summed by pairs,", axes=("position", "pair")
    )


def test_each_token_gets_the_row_of_its_position() -> None:
    """Each token gets the row of its position.

    The rows are the same in every sentence of the batch.
    """
    encoding = PositionalEncoding(d_model=6, max_len=10).eval()
    x = torch.arange(2 * 4 * 6).reshape(2, 4, 6) / 10
    expected = x + sinusoidal_table(4, 6)
    assert_matches(
        encoding(x), expected, "PositionalEncoding output", axes=("batch", "length", "d_model")
    )


def test_the_table_is_not_a_parameter() -> None:
    """The table is the buffer `pe`, not a parameter."""
    encoding = PositionalEncoding(d_model=6, max_len=10)
    assert_parameters(encoding, {}, "PositionalEncoding(6)")
    if "pe" not in dict(encoding.named_buffers()):
        raise Mismatch(
            "PositionalEncoding has no buffer `pe`.",
            help="`.to(...)` doesn't move a plain tensor: look up `register_buffer`.",
            points_at="__init__",
        )


def test_a_sentence_that_is_too_long() -> None:
    """Six tokens and a table of five rows raise ValueError."""
    encoding = PositionalEncoding(d_model=4, max_len=5)
    with assert_raises(ValueError, "PositionalEncoding(4, max_len=5) with a sentence of 6"):
        encoding(torch.zeros(2, 6, 4))


def test_a_sentence_as_long_as_the_table() -> None:
    """Five tokens and a table of five rows are fine.

    A shorter sentence in an earlier call makes no difference."""
    encoding = PositionalEncoding(d_model=4, max_len=5).eval()
    for length in (2, 5):
        found = encoding(torch.zeros(1, length, 4))
        axes = ("batch", "length", "d_model")
        expected = sinusoidal_table(length, 4)[None]
        assert_matches(found, expected, "PositionalEncoding output", axes=axes)


def test_another_base() -> None:
    """With base=100 and four columns, the angles are pos and pos / 10.

    100 ** (2 / 4) is 10.
    """
    expected = torch.tensor([[0.0, 1.0, 0.0, 1.0], [sin(1), cos(1), sin(0.1), cos(0.1)]])
    what = "sinusoidal_table(2, 4, base=100.0)"
    asks = {"These are the numbers of base=10000. Is `base` used?": waves(1.0, 0.01)[:2]}
    assert_matches(sinusoidal_table(2, 4, 100.0), expected, what, axes=AXES, asks=asks)
    assert_dtype(sinusoidal_table(2, 4), torch.float32, "sinusoidal_table(2, 4)")


def test_dropout_acts_on_the_sum() -> None:
    """With dropout 0.75, each sum becomes 0 or four times as large.

    x is 1 everywhere and the first row of the table is 0, 1, 0, 1, so the sums are 1, 2, 1, 2. In
    evaluation nothing is dropped.
    """
    torch.manual_seed(0)
    encoding = PositionalEncoding(d_model=4, dropout=0.75, max_len=100)
    x = torch.ones(64, 1, 4)
    whole = torch.tensor([1.0, 2.0, 1.0, 2.0]).expand(64, 1, 4)
    axes = ("batch", "length", "d_model")
    output = encoding.train()(x)
    what = "PositionalEncoding output in training"
    assert_shape(output, {"batch": 64, "length": 1, "d_model": 4}, what)
    if torch.equal(output, whole):
        raise Mismatch(f"Nothing is dropped in your {what}.", help="Where is `dropout` used?")
    expected = torch.where(output.abs() < 1e-3, 0.0, 4 * whole)
    help = "Is there one dropout, with this probability, on the sum of tokens and table?"
    assert_matches(output, expected, what, axes=axes, help=help)
    what = "PositionalEncoding output in evaluation"
    assert_matches(encoding.eval()(x), whole, what, axes=axes)


def test_the_caller_keeps_its_x() -> None:
    """x is unchanged after the call."""
    x = torch.zeros(1, 2, 4)
    PositionalEncoding(4).eval()(x)
    assert_unchanged(x, torch.zeros(1, 2, 4), "x")


def test_gradients_and_dtype() -> None:
    """Gradients reach x, and bfloat16 stays bfloat16."""
    x = torch.zeros(1, 2, 4, requires_grad=True)
    PositionalEncoding(4, max_len=20).eval()(x).sum().backward()
    help = "Is there a `detach` or `.data` on the way?"
    assert_matches(x.grad, torch.ones(1, 2, 4), "gradient of x", help=help)
    encoding = PositionalEncoding(4, max_len=20).eval().to(torch.bfloat16)
    output = encoding(torch.zeros(1, 2, 4, dtype=torch.bfloat16))
    assert_dtype(output, torch.bfloat16, "PositionalEncoding output after .to(torch.bfloat16)")


def test_the_defaults() -> None:
    """The defaults: dropout 0.1 and room for 5000 positions."""
    assert_defaults(PositionalEncoding, dropout=0.1, max_len=5000)
    assert_defaults(sinusoidal_table, base=10000.0)
