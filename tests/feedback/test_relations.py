"""What a message says about wrong numbers: what they have to do with the right ones."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.feedback.comparison import Mismatch, assert_matches
from grader.feedback.relations import relation

RIGHT = torch.tensor([[1.0, 2.0], [4.0, 3.0]])


@pytest.mark.parametrize(
    ("yours", "says"),
    [
        (RIGHT / 2, "Every number is 0.5 times the expected one."),
        (-RIGHT, "Every number has the wrong sign."),
        (RIGHT + 3, "Every number is too large by 3."),
        (RIGHT - 0.5, "Every number is too small by 0.5."),
        (RIGHT.T, "with rows and columns swapped."),
        (RIGHT.sort(-1).values, "Each row holds the expected numbers in a different order."),
        (RIGHT.flip(0), "The rows are the expected ones in a different order."),
    ],
    ids=["a factor", "signs", "above", "below", "transposed", "sorted", "rows"],
)
def test_what_wrong_numbers_have_in_common_is_said(yours: Tensor, says: str) -> None:
    with pytest.raises(Mismatch) as caught:
        assert_matches(yours, RIGHT)
    assert caught.value.finding.headline.endswith(says)


_ROWS = torch.tensor([[1.0, 2.0, 5.0], [4.0, 3.0, 1.0], [7.0, 9.0, 2.0]])


@pytest.mark.parametrize(
    ("yours", "says"),
    [
        (_ROWS * torch.tensor([1.0, -1.0, 1.0]), "The wrong numbers have the wrong sign."),
        (_ROWS * torch.tensor([1.0, 10.0, 1.0]), "Each wrong number is 10 times the expected one."),
        (
            torch.tensor([[0.0, 0.0, 1.0], [1.0, 2.0, 5.0], [4.0, 3.0, 1.0]]),
            "Each row holds the numbers expected in the row before it.",
        ),
        (
            torch.tensor([[4.0, 3.0, 1.0], [7.0, 9.0, 2.0], [0.0, 0.0, 1.0]]),
            "Each row holds the numbers expected in the row after it.",
        ),
        (
            _ROWS * torch.tensor([[2.0], [3.0], [4.0]]),
            "Each row is the expected one times a different number, 2 to 4.",
        ),
        (
            _ROWS * torch.tensor([[0.799], [0.8], [0.802]]),
            "Each row is about 0.8 times the expected one.",
        ),
        (
            _ROWS * torch.tensor([[0.997], [1.003], [1.02]]),
            "Each row is the expected one times a different number, 0.997 to 1.02.",
        ),
        (
            _ROWS + torch.tensor([[2.0], [3.0], [4.0]]),
            "Each row differs from the expected one by its own constant.",
        ),
    ],
    ids=[
        "some signs",
        "some factors",
        "rows before",
        "rows after",
        "row factors",
        "about one factor",
        "about one time",
        "row constants",
    ],
)
def test_what_holds_of_some_numbers_or_of_each_row_is_said(yours: Tensor, says: str) -> None:
    with pytest.raises(Mismatch) as caught:
        assert_matches(yours, _ROWS)
    assert caught.value.finding.headline.endswith(says)


def test_nothing_is_said_of_each_row_where_some_are_right() -> None:
    """A row that is wrong by itself is marked as such, and the others have no constant."""
    with pytest.raises(Mismatch) as caught:
        assert_matches(_ROWS + torch.tensor([[0.0], [0.0], [1.0]]), _ROWS)
    assert "by its own constant" not in caught.value.finding.headline


def test_a_pair_of_values_and_indices_is_called_so() -> None:
    """As `torch.max` returns it when it gets an axis."""
    with pytest.raises(Mismatch, match="torch's `max` returns both"):
        assert_matches(torch.max(RIGHT, 0), RIGHT)


def test_the_order_is_said_of_rows_with_infinities_too() -> None:
    """As where the logits that were cut off are -inf."""
    with pytest.raises(Mismatch) as caught:
        assert_matches(torch.tensor([[2.0, -torch.inf]]), torch.tensor([[-torch.inf, 2.0]]))
    assert "numbers in a different order." in caught.value.finding.headline


def test_nothing_is_said_of_numbers_without_a_relation() -> None:
    with pytest.raises(Mismatch) as caught:
        assert_matches(torch.tensor([[1.0, 7.0], [2.0, 2.5]]), RIGHT)
    assert "Every" not in caught.value.finding.headline


@pytest.mark.parametrize("size", [1e-7, 1e-6, 1e-5, 5e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("shape", [(6,), (4, 5), (5, 5), (3, 4, 5), (2, 3, 4, 4)])
def test_noise_of_both_signs_has_no_relation(shape: tuple[int, ...], size: float) -> None:
    """It is neither a constant nor a factor, and no order, however small it is."""
    for seed in range(5):
        random = torch.Generator().manual_seed(seed)
        expected = torch.randn(shape, generator=random, dtype=torch.float64)
        noise = size * torch.randn(shape, generator=random, dtype=torch.float64)
        sorted_rows = expected.sort(-1).values
        for right in (expected, expected + 100, expected.abs(), sorted_rows, expected.softmax(-1)):
            assert relation(right + noise, right) == ""


def test_rows_have_a_factor_only_if_each_has_one_at_its_own_size() -> None:
    """A row of small numbers is not held for a multiple because others are far larger."""
    expected = torch.tensor([[1e-4, 2e-4, 5e-4], [4.0, 3.0, 1.0]])
    for factor in (1.0, 0.999, 2.0, -1.0):
        bent = torch.tensor([[0.54, 0.6, 0.75], [factor] * 3]) * expected
        assert relation(bent, expected) == ""


def test_the_difference_of_float32_is_no_constant() -> None:
    """As where float64 numbers were computed in float32."""
    expected = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0)).double() / 3
    assert relation(expected.float(), expected) == ""


def test_numbers_that_suggest_a_question_get_it() -> None:
    """A question belongs to numbers; other wrong numbers get the general one."""
    asks = {"Is the root taken?": RIGHT**2, "Is it there twice?": RIGHT * 2}
    for yours, question in (
        (RIGHT**2, "Is the root taken?"),
        (RIGHT * 2, "Is it there twice?"),
        (RIGHT * 3, "Print it."),
    ):
        with pytest.raises(Mismatch) as caught:
            assert_matches(yours, RIGHT, help="Print it.", asks=asks)
        assert caught.value.finding.help == question
