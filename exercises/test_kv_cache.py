"""Public tests of kv_cache. Run them with: pytest exercises/test_kv_cache.py."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from exercises.kv_cache import KVCache, causal_mask_with_past
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_matches,
    assert_parts,
    assert_raises,
)

AXES = ("batch", "head", "token", "feature")
NAMES = ("keys", "values")


def appended(cache: KVCache, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The keys and values that `append` returns."""
    result = cache.append(key, value)
    assert_parts(result, NAMES, "append")
    return result


def pieces(*lengths: int, batch: int = 2) -> list[tuple[Tensor, Tensor]]:
    """Keys and values of three heads, in pieces of these lengths."""
    generator = torch.Generator().manual_seed(0)
    return [
        (
            torch.randn(batch, 3, length, 4, generator=generator),
            torch.randn(batch, 3, length, 5, generator=generator),
        )
        for length in lengths
    ]


def test_three_tokens_by_hand() -> None:
    """Two tokens, then a third: append returns all three, in order."""
    cache = KVCache()
    assert_matches(torch.tensor(cache.length), torch.tensor(0), "length of an empty cache")
    key = torch.tensor([[[[1.0], [2.0]]]])
    appended(cache, key, 10 * key)
    if isinstance(cache.length, Tensor):
        raise Mismatch("`length` should be a Python number after append, not a tensor.")
    help = "Does `length` count tokens, those of the first append too?"
    assert_matches(
        torch.tensor(cache.length), torch.tensor(2), "`length` after two tokens", help=help
    )
    keys, values = appended(cache, torch.tensor([[[[3.0]]]]), torch.tensor([[[[30.0]]]]))
    expected = torch.tensor([[[[1.0], [2.0], [3.0]]]])
    help = "append returns everything that the cache holds, the new tokens last."
    asks = {
        "These are the values. In which order does append return keys and values?": 10 * expected,
        "Do the new tokens come after the old ones, or before?": expected.roll(1, dims=2),
    }
    assert_matches(keys, expected, "keys", axes=AXES, help=help, asks=asks)
    asks = {
        "These are the keys. In which order does append return keys and values?": expected,
        "What is appended to the values: the new value, or the new key?": torch.cat(
            [10 * expected[:, :, :2], expected[:, :, 2:]], dim=2
        ),
    }
    assert_matches(values, 10 * expected, "values", axes=AXES, help=help, asks=asks)
    help = "Does `length` count tokens, all of them, after each append?"
    assert_matches(
        torch.tensor(cache.length), torch.tensor(3), "`length` after three tokens", help=help
    )


@given(lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_pieces_of_any_length(lengths: list[int]) -> None:
    """In pieces, keys and values come back as if appended at once.

    Each call adds its tokens after those already there, along the axis of the tokens.
    """
    some = pieces(*lengths)
    cache = KVCache()
    results = [appended(cache, *pair) for pair in some]
    joined = zip(*some, strict=True)
    for name, found, expected in zip(NAMES, results[-1], joined, strict=True):
        assert_matches(found, torch.cat(expected, dim=2), name, axes=AXES)
    help = "One call may append several tokens."
    found, total = torch.tensor(cache.length), torch.tensor(sum(lengths))
    assert_matches(found, total, f"`length` after appending {lengths} tokens", help=help)


def test_two_caches_share_nothing() -> None:
    """Two caches share nothing.

    Each cache makes its own attributes, in __init__.
    """
    first, second = pieces(2, 1)
    appended(KVCache(), *first)
    keys, _ = appended(KVCache(), *second)
    assert_matches(keys, second[0], "keys of a second cache", axes=AXES)


def test_reorder_by_hand() -> None:
    """After reorder([2, 0]), row 2 comes first and row 0 second.

    Rows are those of the batch, the first axis. Keys and values are reordered in the same way.
    """
    cache = KVCache()
    key = torch.tensor([1.0, 2.0, 3.0]).reshape(3, 1, 1, 1)
    appended(cache, key, 10 * key)
    cache.reorder(torch.tensor([2, 0]))
    help = "`reorder` picks rows of the batch; the number of tokens stays the same."
    assert_matches(torch.tensor(cache.length), torch.tensor(1), "`length` after reorder", help=help)
    new = torch.tensor([8.0, 9.0]).reshape(2, 1, 1, 1)
    keys, values = appended(cache, new, 10 * new)
    expected = torch.tensor([[[[3.0], [8.0]]], [[[1.0], [9.0]]]])
    assert_matches(keys, expected, "keys after reorder([2, 0])", axes=AXES)
    assert_matches(values, 10 * expected, "values after reorder([2, 0])", axes=AXES)


def test_an_empty_cache_can_be_reordered() -> None:
    """Reordering an empty cache does nothing.

    The first append after it returns exactly what it was given.
    """
    cache = KVCache()
    cache.reorder(torch.tensor([0, 0, 0]))
    ((key, value),) = pieces(2)
    keys, _ = appended(cache, key, value)
    assert_matches(keys, key, "keys of the first append", axes=AXES)


def test_what_was_returned_stays() -> None:
    """append and reorder modify no tensor that they got or returned.

    Does your cache write into a tensor that its caller still holds?
    """
    cache = KVCache()
    first, second = pieces(2, 1)
    results = [*first, *appended(cache, *first), *appended(cache, *second)]
    before = [tensor.clone() for tensor in results]
    cache.reorder(torch.tensor([1, 0]))
    appended(cache, *pieces(1)[0])
    calls = ("the first append was given", "the first append", "the second append")
    names = [f"{name} that {which} returned" for which in calls[1:] for name in NAMES]
    names = [f"{name} that {calls[0]}" for name in NAMES] + names
    for name, found, expected in zip(names, results, before, strict=True):
        what = f"{name}, looked at later"
        assert_matches(found, expected, what, axes=AXES, sides=("later", "at first"))


def test_what_does_not_fit_is_refused() -> None:
    """A different batch size, number of heads or features raises ValueError."""
    for (batch, heads, d, d_v), other in (
        ((1, 3, 4, 5), "batch of both"),
        ((2, 1, 4, 5), "number of heads of both"),
        ((2, 3, 6, 5), "number of features of the key"),
        ((2, 3, 4, 6), "number of features of the value"),
    ):
        cache = KVCache()
        appended(cache, *pieces(2)[0])
        key, value = torch.zeros(batch, heads, 1, d), torch.zeros(batch, heads, 1, d_v)
        shapes = f"{tuple(key.shape)} and {tuple(value.shape)}"
        what = f"append of {shapes} to a cache of (2, 3, 2, 4) and (2, 3, 2, 5)"
        help = f"Here only the {other} differs. Which condition of yours compares it?"
        with assert_raises(ValueError, what, help):
            cache.append(key, value)


def test_gradients_reach_the_first_keys() -> None:
    """Gradients reach the first keys after a second append; the dtype stays."""
    for reorders in (False, True):
        cache = KVCache()
        first, second = pieces(2, 1)
        leaf = first[0].requires_grad_()
        appended(cache, leaf, first[1])
        if reorders:
            cache.reorder(torch.tensor([1, 0]))
        keys, _ = appended(cache, *second)
        if not keys.requires_grad:
            later = " after reorder" if reorders else ""
            raise Mismatch(
                f"No gradient flows back to the keys of the first call{later}.",
                help="Is the graph cut by detach, .data or no_grad?",
            )
    cache = KVCache()
    keys, _ = appended(cache, first[0].bfloat16(), first[1].bfloat16())
    assert_dtype(keys, torch.bfloat16, "keys for bfloat16")


def test_masks_by_hand() -> None:
    """After three tokens, a new one attends to those and itself."""
    expected = torch.tensor([[[[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]]]).bool()
    axes = ("batch", "head", "query", "key")
    help = "There are 2 queries, at positions 3 and 4, and 5 keys, at positions 0 to 4."
    mask = causal_mask_with_past(2, 3)
    assert_matches(mask, expected, "causal_mask_with_past(2, 3)", axes=axes, help=help)
    expected = torch.tensor([[[[1, 0], [1, 1]]]]).bool()
    what, help = "causal_mask_with_past(2, 0)", "Without a past, it is the usual causal mask."
    assert_matches(causal_mask_with_past(2, 0), expected, what, axes=axes, help=help)
    what, help = "causal_mask_with_past(1, 3)", "A single token may attend to all, itself included."
    expected = torch.ones(1, 1, 1, 4, dtype=torch.bool)
    assert_matches(causal_mask_with_past(1, 3), expected, what, axes=axes, help=help)
    device = causal_mask_with_past(2, 3, device="meta").device
    assert device.type == "meta", f'With device="meta" your mask is on the device {device}.'
