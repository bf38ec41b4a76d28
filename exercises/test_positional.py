"""Public tests of positional. Run them with: pytest exercises/test_positional.py."""

from math import cos, sin

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.positional import PositionalEncoding, sinusoidal_table
from grader.feedback.comparison import (
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_shape,
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
    assert_matches(sinusoidal_table(3, 4), expected, "sinusoidal_table(3, 4)", axes=AXES)


def test_an_odd_number_of_columns() -> None:
    """With five columns the last is a sine that has no cosine."""
    table = sinusoidal_table(3, 5)
    assert_shape(table, {"position": 3, "column": 5}, "sinusoidal_table(3, 5)")
    angle = 10000 ** (-4 / 5)
    expected = torch.tensor([0.0, sin(angle), sin(2 * angle)])
    assert_matches(table[:, 4], expected, "sinusoidal_table(3, 5)[:, 4]", axes=AXES[:1])


@given(max_len=st.integers(1, 20), pairs=st.integers(1, 4))
def test_sine_and_cosine_of_the_same_angle(max_len: int, pairs: int) -> None:
    """In each pair of columns the squares sum to one."""
    table = sinusoidal_table(max_len, 2 * pairs)
    assert_shape(table, {"position": max_len, "column": 2 * pairs}, "sinusoidal_table")
    sums = table[:, 0::2] ** 2 + table[:, 1::2] ** 2
    expected = torch.ones(max_len, pairs)
    assert_matches(
        sums, expected, "sinusoidal_table, squared and summed by pairs,", axes=("position", "pair")
    )


def test_each_token_gets_the_row_of_its_place() -> None:
    """Each token gets the row of its place.

    The rows are the same in every sentence of the batch.
    """
    encoding = PositionalEncoding(d_model=6, max_len=10).eval()
    x = torch.arange(2 * 4 * 6).reshape(2, 4, 6) / 10
    expected = x + sinusoidal_table(4, 6)
    assert_matches(
        encoding(x), expected, "PositionalEncoding output", axes=("batch", "length", "d_model")
    )


def test_the_table_is_no_parameter() -> None:
    """There is nothing to learn: the table is the buffer `pe`."""
    encoding = PositionalEncoding(d_model=6, max_len=10)
    assert_parameters(encoding, {}, "PositionalEncoding(6)")
    assert "pe" in dict(encoding.named_buffers()), "PositionalEncoding has no buffer `pe`."


def test_a_sentence_that_is_too_long() -> None:
    """Six tokens do not fit a table of five places."""
    encoding = PositionalEncoding(d_model=4, max_len=5)
    with assert_raises(ValueError, "PositionalEncoding(4, max_len=5) with a sentence of 6"):
        encoding(torch.zeros(2, 6, 4))
