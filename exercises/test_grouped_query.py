"""Public tests of grouped_query. Run them with: pytest exercises/test_grouped_query.py."""

from math import log
from typing import Any

import torch
from torch import Tensor, nn

from exercises.attention import attention
from exercises.grouped_query import GroupedQueryAttention
from exercises.kv_cache import KVCache
from exercises.rope import apply_rotary, rotary_angles
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_shape,
    assert_unchanged,
)
from grader.feedback.gradients import assert_gradients

AXES = ("batch", "token", "d_model")


def copying(d_model: int, n_heads: int, n_kv_heads: int) -> Any:
    """A layer whose maps copy: k_proj and v_proj take the first features."""
    layer: Any = GroupedQueryAttention(d_model, n_heads, n_kv_heads)
    for linear in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj):
        nn.init.eye_(linear.weight)
    return layer


def causal(length: int, past: int = 0) -> Tensor:
    """The causal mask of new tokens after `past` others."""
    return torch.ones(length, past + length, dtype=torch.bool).tril(past)


def test_its_parameters() -> None:
    """k_proj and v_proj have n_kv_heads heads; no bias by default.

    With a bias of 1 in v_proj, every value is 1, and so is their average. The bias of out_proj is
    added to the result.
    """
    shapes = {"q_proj": (12, 12), "k_proj": (6, 12), "v_proj": (6, 12), "out_proj": (12, 12)}
    weights = {f"{name}.weight": shape for name, shape in shapes.items()}
    layer = GroupedQueryAttention(d_model=12, n_heads=4, n_kv_heads=2)
    assert_parameters(layer, weights, "GroupedQueryAttention(12, 4, 2)")
    biases = {f"{name}.bias": shape[:1] for name, shape in shapes.items()}
    layer = GroupedQueryAttention(12, 4, 2, bias=True)
    assert_parameters(layer, {**weights, **biases}, "GroupedQueryAttention(12, 4, 2, bias=True)")
    for name in ("v_proj", "out_proj"):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        nn.init.eye_(layer.get_parameter("out_proj.weight"))
        nn.init.ones_(layer.get_parameter(f"{name}.bias"))
        what = f"output when all is zero but out_proj.weight, which copies, and {name}.bias"
        assert_matches(layer(torch.zeros(1, 2, 12)), torch.ones(1, 2, 12), what, axes=AXES)


def test_which_head_reads_which() -> None:
    """Query heads 0 and 1 read key/value head 0, and 2 and 3 read 1.

    All maps copy, and each head has two features.
    """
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8)
    heads = []
    for query_head, kv_head in enumerate((0, 0, 1, 1)):
        query = x[..., 2 * query_head : 2 * query_head + 2]
        key = x[..., 2 * kv_head : 2 * kv_head + 2]
        heads.append(attention(query, key, key)[0])
    assert_matches(
        copying(8, n_heads=4, n_kv_heads=2)(x),
        torch.cat(heads, dim=-1),
        "output of 4 heads with 2 key/value heads",
        axes=AXES,
        help="Is each query head made of neighbouring features of one token, and merged back in "
        "the same way? And in which order are the key/value heads after each has been repeated?",
    )


def test_every_map_by_hand() -> None:
    """Each map has its own number, worked out with a pencil.

    There is one head of one feature.

    The first token is 0 and the second log 2. The second token's query is 6 log 2 / log 2 = 6, and
    keys are a sixth of the tokens. So its scores are 0 and log 2, and its weights 1/3 and 2/3.
    Values are 9 times the tokens, so their average is 6 log 2, and out_proj halves it.
    """
    layer: Any = GroupedQueryAttention(1, 1, 1)
    numbers = {"q_proj": 6 / log(2), "k_proj": 1 / 6, "v_proj": 9.0, "out_proj": 0.5}
    for name, number in numbers.items():
        nn.init.constant_(layer.get_parameter(f"{name}.weight"), number)
    found = layer(torch.tensor([[[0.0], [log(2)]]]))[:, 1]
    help = "Which map does each of them go through: queries, keys, values and the result?"
    expected = torch.tensor([[3 * log(2)]])
    assert_matches(found, expected, "output for token 1", axes=("batch", "d_model"), help=help)


def test_it_learns_and_keeps_nothing() -> None:
    """Gradients flow through a cache; the layer itself keeps nothing.

    A cache belongs to the caller: the next call without one gives the same as before.
    """
    torch.manual_seed(6)
    layer, x = GroupedQueryAttention(4, 2, 1), torch.randn(1, 2, 4).requires_grad_()
    other = torch.randn(1, 2, 4)
    before = layer(other)
    given = {"x": x, **dict(layer.named_parameters())}
    assert_gradients(lambda: layer(x, cache=KVCache()), given, "output with a cache")
    sides = ("after a cache", "before")
    assert_matches(layer(other), before, "output without a cache", axes=AXES, sides=sides)


def test_scores_of_a_thousand() -> None:
    """A mask works for scores of -1000, too.

    The token -1000 has the score -1000 with both keys, 1 and 1. Its weights are 1 and 0.
    """
    layer = copying(1, n_heads=1, n_kv_heads=1)
    nn.init.constant_(layer.q_proj.weight, -1000.0)
    nn.init.constant_(layer.v_proj.weight, 5.0)
    found = layer(torch.ones(1, 2, 1), mask=torch.tensor([True, False]))
    assert_matches(found, torch.full((1, 2, 1), 5.0), "output", axes=AXES)
    nn.init.constant_(layer.k_proj.weight, 1.0)
    x = torch.tensor([[[1.0], [1.001]]])
    found = layer(x, mask=torch.tensor([True, False]))
    help = "Is the number that replaces the score of a hidden key lower than any score?"
    assert_matches(found, torch.full((1, 2, 1), 5.0), "output", axes=AXES, help=help)


def test_the_cache_gets_keys_and_values() -> None:
    """Keys are cached as keys, values as values.

    Keys are the tokens, 1 and 2; values are ten times the tokens.
    """
    layer, cache = copying(1, n_heads=1, n_kv_heads=1), KVCache()
    nn.init.constant_(layer.v_proj.weight, 10.0)
    layer(torch.tensor([[[1.0], [2.0]]]), cache=cache)
    keys, values = cache.append(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1))
    for what, held, expected in (("keys", keys, [1.0, 2.0]), ("values", values, [10.0, 20.0])):
        assert_matches(held[0, 0, :2, 0], torch.tensor(expected), f"{what} in the cache")


def test_one_head_for_all_and_one_for_each() -> None:
    """All query heads share one key/value head, or each has its own.

    With `n_kv_heads=1`, all four query heads read the same one; with 4, each reads its own.
    """
    x = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(1))
    for n_kv_heads in (1, 4):
        cut = x.chunk(4, dim=-1)
        keys = [cut[head * n_kv_heads // 4] for head in range(4)]
        pairs = zip(cut, keys, strict=True)
        heads = [attention(query, key, key)[0] for query, key in pairs]
        what = f"output with n_kv_heads={n_kv_heads}"
        found = copying(8, n_heads=4, n_kv_heads=n_kv_heads)(x)
        assert_matches(found, torch.cat(heads, dim=-1), what, axes=AXES)


def test_queries_and_keys_are_rotated() -> None:
    """Angles rotate queries and keys, and leave the values unchanged.

    Which tensors go through `apply_rotary`, and are they split into heads by then?
    """
    torch.manual_seed(2)
    x, angles = torch.randn(1, 3, 4), torch.randn(3, 2)
    rotated = apply_rotary(x, angles)
    expected, _ = attention(rotated, rotated, x)
    found = copying(4, n_heads=1, n_kv_heads=1)(x, angles)
    assert_matches(found, expected, "output with angles", axes=AXES)


def test_a_mask_hides_keys() -> None:
    """A token that the mask hides does not affect the others.

    A mask may have an axis for the heads. The layer's inputs are not modified, and bfloat16 gives
    bfloat16.
    """
    torch.manual_seed(3)
    layer = GroupedQueryAttention(8, 4, 2).eval()
    x = torch.randn(2, 4, 8)
    other = x.clone()
    other[:, 3] = 7.0
    found, before = layer(other, mask=causal(4))[:, :3], layer(x, mask=causal(4))[:, :3]
    what = "output for tokens 0 to 2 when token 3 is a different one"
    assert_matches(found, before, what, axes=AXES, sides=("another", "before"))
    found, one = layer(x, mask=causal(4).expand(2, 4, 4, 4)), layer(x, mask=causal(4))
    what = "output for a mask with the same rows for each head"
    assert_matches(found, one, what, axes=AXES, sides=("(2, 4, 4, 4)", "(1, 1, 4, 4)"))
    mask, angles = causal(4), torch.ones(4, 1)
    given = {"x": x, "mask": mask, "angles": angles}
    copies = {name: tensor.clone() for name, tensor in given.items()}
    layer(x, angles, mask)
    for name, tensor in given.items():
        assert_unchanged(tensor, copies[name], name)
    half = layer.to(torch.bfloat16)(x.to(torch.bfloat16), angles.to(torch.bfloat16), mask)
    assert_dtype(half, torch.bfloat16, "output for bfloat16")


def test_in_pieces_through_a_cache() -> None:
    """Three tokens, then two, through a cache: the same as at once.

    With an empty cache, the layer returns the same as without one. And without a mask, all tokens
    attend to all that are cached, and to one another.
    """
    torch.manual_seed(4)
    layer = GroupedQueryAttention(8, 4, 2).eval()
    x, angles = torch.randn(2, 5, 8), rotary_angles(2, 5)
    at_once = layer(x, angles, causal(5))
    cache = KVCache()
    first = layer(x[:, :3], angles[:3], causal(3), cache)
    assert_matches(first, at_once[:, :3], "output for the first three", axes=AXES)
    second = layer(x[:, 3:], angles[3:], causal(2, past=3), cache)
    help = "Does attention see what was cached? And are keys rotated once, before they are cached?"
    assert_matches(second, at_once[:, 3:], "output for the last two", axes=AXES, help=help)
    found, cache = layer(x), KVCache()
    layer(x[:, :3], cache=cache)
    last = layer(x[:, 3:], cache=cache)
    help = "Is anything hidden or rotated although neither a mask nor angles are given?"
    what = "output for the last two with a cache alone"
    assert_matches(last, found[:, 3:], what, axes=AXES, help=help)
    what = "output with an empty cache alone"
    assert_matches(layer(x, cache=KVCache()), found, what, axes=AXES, help=help)


def test_the_cache_stays_small() -> None:
    """The cache holds n_kv_heads heads, not one per query head."""
    cache = KVCache()
    GroupedQueryAttention(8, 4, 2)(torch.randn(3, 5, 8), cache=cache)
    try:
        keys, _ = cache.append(torch.zeros(3, 2, 1, 2), torch.zeros(3, 2, 1, 2))
    except ValueError:
        raise Mismatch(
            "The cache should hold two heads of two features for three rows, and it doesn't.",
            help="Are heads repeated before they are cached?",
        ) from None
    shape = {"batch": 3, "kv_heads": 2, "token": 6, "d_head": 2}
    assert_shape(keys, shape, "keys in the cache, after one more")


def test_the_heads_must_divide_evenly() -> None:
    """Ten features can't form four heads, nor four heads three groups."""
    for sizes in ((10, 4, 2), (12, 4, 3)):
        with assert_raises(ValueError, f"GroupedQueryAttention{sizes}"):
            GroupedQueryAttention(*sizes)


def test_a_query_without_keys() -> None:
    """A query gets the value of its only key, or stays finite.

    Token 0 may attend to token 1 alone, so its weight is 1, and that token's value comes out.
    """
    layer = copying(4, n_heads=2, n_kv_heads=1)
    x = torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(5))
    mask = torch.tensor([[False, True, False], [False, False, False], [True, True, True]])
    found = layer(x, mask=mask)
    value = x[:, 1, :2].repeat(1, 2)
    assert_matches(found[:, 0], value, "output for token 0", axes=("batch", "d_model"))
    assert_finite(found, "output where token 1 may attend to nothing", axes=AXES)
