"""What a message says about wrong numbers: what they have to do with the right ones."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.feedback.comparison import Mismatch, assert_matches

RIGHT = torch.tensor([[1.0, 2.0], [4.0, 3.0]])


@pytest.mark.parametrize(
    ("yours", "says"),
    [
        (RIGHT / 2, "Every number is 0.5 times the expected one."),
        (-RIGHT, "Every number has the wrong sign."),
        (RIGHT + 3, "Every number is too large by 3."),
        (RIGHT - 0.5, "Every number is too small by 0.5."),
        (RIGHT.T, "with rows and columns swapped."),
        (RIGHT.sort(-1).values, "Each row holds the expected numbers in another order."),
        (RIGHT.flip(0), "The rows are the expected ones in another order."),
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
            "Each row is the expected one times a number of its own, 2 to 4.",
        ),
        (
            _ROWS + torch.tensor([[2.0], [3.0], [4.0]]),
            "Each row differs from the expected one by a constant of its own.",
        ),
    ],
    ids=["some signs", "some factors", "rows before", "rows after", "row factors", "row constants"],
)
def test_what_holds_of_some_numbers_or_of_each_row_is_said(yours: Tensor, says: str) -> None:
    with pytest.raises(Mismatch) as caught:
        assert_matches(yours, _ROWS)
    assert caught.value.finding.headline.endswith(says)


def test_nothing_is_said_of_each_row_where_some_are_right() -> None:
    """A row that is wrong by itself is marked as such, and the others have no constant."""
    with pytest.raises(Mismatch) as caught:
        assert_matches(_ROWS + torch.tensor([[0.0], [0.0], [1.0]]), _ROWS)
    assert "constant of its own" not in caught.value.finding.headline


def test_a_pair_of_values_and_indices_is_called_so() -> None:
    """As `torch.max` returns it when it gets an axis."""
    with pytest.raises(Mismatch, match="torch's `max` with an axis returns both"):
        assert_matches(torch.max(RIGHT, 0), RIGHT)


def test_the_order_is_said_of_rows_with_infinities_too() -> None:
    """As where the logits that were cut off are -inf."""
    with pytest.raises(Mismatch) as caught:
        assert_matches(torch.tensor([[2.0, -torch.inf]]), torch.tensor([[-torch.inf, 2.0]]))
    assert "numbers in another order." in caught.value.finding.headline


def test_nothing_is_said_of_numbers_without_a_relation() -> None:
    with pytest.raises(Mismatch) as caught:
        assert_matches(torch.tensor([[1.0, 7.0], [2.0, 2.5]]), RIGHT)
    assert "Every" not in caught.value.finding.headline


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
