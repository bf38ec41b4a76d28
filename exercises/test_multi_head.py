"""Public tests of multi_head. Run them with: pytest exercises/test_multi_head.py."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from exercises.attention import attention
from exercises.multi_head import MultiHeadAttention, merge_heads, split_heads
from grader.feedback.comparison import (
    Mismatch,
    assert_matches,
    assert_parameters,
    assert_raises,
)


def test_split_heads_by_hand() -> None:
    """Each head gets its own features of every token.

    Two tokens of six features are cut for three heads.
    """
    x = torch.tensor([[[1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60]]])
    expected = torch.tensor([[[[1, 2], [10, 20]], [[3, 4], [30, 40]], [[5, 6], [50, 60]]]])
    axes = ("batch", "head", "length", "d_head")
    assert_matches(split_heads(x, 3), expected, "split_heads(x, 3)", axes=axes)


@given(batch=st.integers(1, 3), length=st.integers(1, 5), n_heads=st.integers(1, 4))
def test_merge_heads_undoes_split_heads(batch: int, length: int, n_heads: int) -> None:
    """Splitting and merging give back what was there."""
    x = torch.arange(batch * length * n_heads * 2).reshape(batch, length, n_heads * 2)
    merged = merge_heads(split_heads(x, n_heads))
    assert_matches(merged, x, "merge_heads of the split x", axes=("batch", "length", "d_model"))


def test_its_parameters() -> None:
    """Four linear maps, called q_proj, k_proj, v_proj and out_proj."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        shapes[f"{name}.weight"] = (6, 6)
        shapes[f"{name}.bias"] = (6,)
    module = MultiHeadAttention(d_model=6, n_heads=3)
    assert_parameters(module, shapes, "MultiHeadAttention(6, 3)")


def test_without_a_bias() -> None:
    """With bias=False, none of the four maps has a bias."""
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    shapes = {f"{name}.weight": (6, 6) for name in names}
    module = MultiHeadAttention(d_model=6, n_heads=3, bias=False)
    assert_parameters(module, shapes, "MultiHeadAttention(6, 3, bias=False)")


def test_no_two_maps_are_one() -> None:
    """A number that is put into one map is in no other."""
    module = MultiHeadAttention(d_model=4, n_heads=2)
    names = [f"{name}.weight" for name in ("q_proj", "k_proj", "v_proj", "out_proj")]
    with torch.no_grad():
        for number, name in enumerate(names):
            module.get_parameter(name).fill_(number)
    for number, name in enumerate(names):
        if (module.get_parameter(name) != number).any():
            raise Mismatch(
                f"`{name}` shares its numbers with another map of MultiHeadAttention(4, 2).",
                help="Is each of the four an nn.Linear of its own?",
                points_at="__init__",
            )


def test_each_head_attends_on_its_own() -> None:
    """Each head is attention on its own share of the features.

    The four maps are set so that they change nothing.
    """
    torch.manual_seed(0)
    module: Any = MultiHeadAttention(d_model=4, n_heads=2).eval()
    for linear in (module.q_proj, module.k_proj, module.v_proj, module.out_proj):
        nn.init.eye_(linear.weight)
        nn.init.zeros_(linear.bias)
    query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    left, _ = attention(query[..., :2], key[..., :2], value[..., :2])
    right, _ = attention(query[..., 2:], key[..., 2:], value[..., 2:])
    assert_matches(
        module(query, key, value),
        torch.cat([left, right], dim=-1),
        "MultiHeadAttention output",
        axes=("batch", "query", "d_model"),
    )


def test_a_hidden_key_changes_nothing() -> None:
    """A key that the mask hides changes nothing."""
    torch.manual_seed(1)
    module = MultiHeadAttention(d_model=6, n_heads=2).eval()
    x = torch.randn(2, 4, 6)
    other = x.clone()
    other[:, 3] = 7.0
    mask = torch.tensor([True, True, True, False])
    assert_matches(
        module(x, other, other, mask),
        module(x, x, x, mask),
        "MultiHeadAttention output",
        axes=("batch", "query", "d_model"),
        help="Does the mask reach your attention?",
        sides=("other key", "before"),
    )


def test_the_heads_must_come_out_even() -> None:
    """Ten features cannot be shared among three heads."""
    with assert_raises(ValueError, "MultiHeadAttention(d_model=10, n_heads=3)"):
        MultiHeadAttention(d_model=10, n_heads=3)


def test_dropout_takes_weights_away() -> None:
    """With dropout 0.5, weights of 1/4 become 0 or 1/2 in training.

    All values are 1, so the output adds those up: 0, 1/2, 1, 3/2 or 2, the same in all features of
    a head. In evaluation it is 1.
    """
    module: Any = MultiHeadAttention(d_model=4, n_heads=2, dropout=0.5)
    x = torch.ones(8, 16, 4)
    plain, _ = attention(x, x[:, :4], x[:, :4])
    unused, _ = attention(x, x, x, dropout=torch.zeros_like)
    if unused.any() or not torch.allclose(plain, x):
        return  # attention is wrong: its own tests say so
    torch.manual_seed(5)
    for linear in (module.q_proj, module.k_proj, module.v_proj, module.out_proj):
        nn.init.zeros_(linear.weight)
        nn.init.zeros_(linear.bias)
    nn.init.ones_(module.v_proj.bias)
    nn.init.eye_(module.out_proj.weight)
    axes = ("batch", "query", "d_model")
    found = module.train()(x, x[:, :4], x[:, :4])
    assert_matches(module.eval()(x, x, x), x, "MultiHeadAttention output in evaluation", axes=axes)
    what = "MultiHeadAttention output in training"
    if torch.equal(found, x):
        raise Mismatch(f"Nothing is dropped in your {what}.", help="Is `dropout` handed on?")
    heads = found[..., ::2].repeat_interleave(2, -1)
    expected = (2 * heads).round().clamp(0, 4) / 2
    help = "Does your dropout act on the weights, once, and on nothing else?"
    assert_matches(found, expected, what, axes=axes, help=help)


def test_the_caller_keeps_its_tensors() -> None:
    """Query, key and value are after the call what they were."""
    torch.manual_seed(6)
    given = {name: torch.randn(2, 3, 4) for name in ("query", "key", "value")}
    before = {name: tensor.clone() for name, tensor in given.items()}
    MultiHeadAttention(d_model=4, n_heads=2)(*given.values())
    for name, tensor in given.items():
        assert_matches(tensor, before[name], f"{name} after the call", sides=("after", "before"))
