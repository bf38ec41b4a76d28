"""Public tests of masks. Run them with: pytest exercises/test_masks.py."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.masks import causal_mask, padding_mask, target_mask
from grader.feedback.comparison import assert_dtype, assert_matches, assert_shape

AXES = ("batch", "head", "query", "key")


def test_padding_is_hidden() -> None:
    """The padding mask is True for words and False for padding."""
    ids = torch.tensor([[5, 7, 0], [4, 0, 0]])
    first = [[True, True, False]]
    second = [[True, False, False]]
    expected = torch.tensor([[first], [second]])
    assert_matches(padding_mask(ids), expected, "padding_mask", axes=AXES)


def test_padding_may_have_any_id() -> None:
    """With pad_id=9, 9 is padding and 0 is a word."""
    ids = torch.tensor([[0, 3, 9, 9]])
    expected = torch.tensor([[[[True, True, False, False]]]])
    assert_matches(padding_mask(ids, pad_id=9), expected, "padding_mask with pad_id=9", axes=AXES)


def test_the_future_is_hidden() -> None:
    """The causal mask is a lower triangle with its diagonal."""
    triangle = [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert_matches(causal_mask(3), torch.tensor([[triangle]]), "causal_mask(3)", axes=AXES)


@given(length=st.integers(1, 8))
def test_each_token_sees_one_more_than_the_one_before(length: int) -> None:
    """The first token sees 1 token, the second 2, and so on."""
    mask = causal_mask(length)
    shape = {"batch": 1, "head": 1, "query": length, "key": length}
    assert_shape(mask, shape, f"causal_mask({length})")
    assert_dtype(mask, torch.bool, f"causal_mask({length})")
    seen = mask.sum(dim=-1)
    expected = torch.arange(1, length + 1).reshape(1, 1, length)
    assert_matches(seen, expected, "causal_mask, counted over the keys,", axes=AXES[:3])


def test_target_mask_hides_padding_and_the_future() -> None:
    """The target mask is True where both of the other masks are."""
    ids = torch.tensor([[5, 7, 8], [4, 0, 0]])
    first = [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    second = [
        [True, False, False],
        [True, False, False],
        [True, False, False],
    ]
    expected = torch.tensor([[first], [second]])
    assert_matches(target_mask(ids), expected, "target_mask", axes=AXES)
    ids = torch.where(ids == 0, 9, ids)
    assert_matches(target_mask(ids, 9), expected, "target_mask with pad_id=9", axes=AXES)
