"""Public tests of masks. Run them with: pytest exercises/test_masks.py."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.masks import causal_mask, padding_mask, target_mask
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_dtype,
    assert_matches,
    assert_shape,
    assert_unchanged,
)

AXES = ("batch", "head", "query", "key")


def test_padding_is_hidden() -> None:
    """The padding mask is True for words and False for padding.

    Each column depends on the id at its position.
    """
    ids = torch.tensor([[5, 7, 0], [4, 0, 0]])
    first = [[True, True, False]]
    second = [[True, False, False]]
    expected = torch.tensor([[first], [second]])
    assert_matches(padding_mask(ids), expected, "padding_mask", axes=AXES)


def test_padding_may_have_any_id() -> None:
    """With pad_id=9, id 9 is padding and id 0 is a word."""
    ids = torch.tensor([[0, 3, 9, 9]])
    expected = torch.tensor([[[[True, True, False, False]]]])
    help = "Which id does your code compare with?"
    asks = {"This hides id 0. Is the argument `pad_id` used?": (ids != 0)[:, None, None]}
    what = "padding_mask with pad_id=9"
    assert_matches(padding_mask(ids, pad_id=9), expected, what, axes=AXES, help=help, asks=asks)


def test_padding_may_be_anywhere() -> None:
    """Padding at the start and in the middle is hidden too.

    Each column depends on the id at its position, and on no other.
    """
    ids = torch.tensor([[0, 5, 0, 7]])
    expected = torch.tensor([[[[False, True, False, True]]]])
    assert_matches(padding_mask(ids), expected, "padding_mask", axes=AXES)


def test_the_future_is_hidden() -> None:
    """The causal mask is a lower triangle, diagonal included."""
    triangle = [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    expected = torch.tensor([[triangle]])
    assert_matches(
        causal_mask(3),
        expected,
        "causal_mask(3)",
        axes=AXES,
        help="Row 0 is the first token's. Which columns may it see? And row 2?",
        asks={
            "Does a token see itself?": expected.tril(-1),
            "Do tokens see what comes before them, or what comes after?": expected.mT,
            "True means visible. Do you keep the future, or what is not the future?": ~expected,
            "Do tokens see one token too many?": torch.ones(1, 1, 3, 3).bool().tril(1),
            "Nothing is hidden here. Is the triangle used?": torch.ones(1, 1, 3, 3).bool(),
        },
    )


@given(length=st.integers(1, 8))
def test_each_token_sees_one_more_than_the_one_before(length: int) -> None:
    """The first token sees 1 token, the second 2, and so on.

    A token sees itself and all that come before it.
    """
    mask = causal_mask(length)
    shape = {"batch": 1, "head": 1, "query": length, "key": length}
    assert_shape(mask, shape, f"causal_mask({length})")
    assert_dtype(mask, torch.bool, f"causal_mask({length})")
    seen = mask.sum(dim=-1)
    expected = torch.arange(1, length + 1).reshape(1, 1, length)
    assert_matches(seen, expected, "causal_mask, counted over the keys,", axes=AXES[:3])


def test_target_mask_hides_padding_and_the_future() -> None:
    """The target mask is True where both other masks are True."""
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
    padding = torch.tensor([[[[True, True, True]]], [[[True, False, False]]]])
    assert_matches(
        target_mask(ids),
        expected,
        "target_mask",
        axes=AXES,
        help="Where both masks are True, the target mask is True, and nowhere else.",
        asks={
            "Is it enough that one of the masks is True, or must both be?": padding | expected[:1],
            "Is padding hidden?": expected[:1].expand(2, 1, 3, 3),
            "Is the future hidden?": padding.expand(2, 1, 3, 3),
            "`!=` and `^` are True where the masks differ. Where should it be True?": padding
            ^ expected[:1],
        },
    )
    starts_with_padding = torch.tensor([[[[False, False], [False, True]]]])
    help = "Padding comes first here. Who may attend to it?"
    found = target_mask(torch.tensor([[0, 5]]))
    assert_matches(found, starts_with_padding, "target_mask of [[0, 5]]", axes=AXES, help=help)
    ids = torch.where(ids == 0, 9, ids)
    help = "Which id is padding here? Is `pad_id` passed on?"
    assert_matches(target_mask(ids, 9), expected, "target_mask with pad_id=9", axes=AXES, help=help)


def test_a_long_sentence() -> None:
    """The last of 300 tokens sees all 300.

    Nothing comes after it, so nothing is hidden from it.
    """
    mask = causal_mask(300)
    assert_shape(mask, {"batch": 1, "head": 1, "query": 300, "key": 300}, "causal_mask(300)")
    assert_matches(mask[0, 0, -1], torch.ones(300).bool(), "last row of causal_mask(300)")


def test_the_device() -> None:
    """The causal mask is created on the device that its argument names.

    "meta" is a device that every machine has: it keeps shapes and no numbers.
    """
    mask = causal_mask(3, torch.device("meta"))
    if mask.device.type != "meta":
        raise Mismatch(
            f'causal_mask(3, device) is on the device "{mask.device}"; it should be on "meta".',
            help="A new tensor is created on the device that its argument `device` names.",
        )


def test_the_caller_keeps_its_ids() -> None:
    """The ids are not modified."""
    ids = torch.tensor([[5, 7, 0], [4, 0, 0]])
    before = ids.clone()
    padding_mask(ids)
    target_mask(ids)
    assert_unchanged(ids, before, "ids")


def test_the_defaults() -> None:
    """The default: pad_id 0."""
    assert_defaults(padding_mask, pad_id=0)
    assert_defaults(target_mask, pad_id=0)
