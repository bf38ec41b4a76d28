"""Public tests of multi_head. Run them with: pytest exercises/test_multi_head.py."""

from math import log
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from exercises.attention import attention
from exercises.multi_head import MultiHeadAttention, merge_heads, split_heads
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_finite,
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_shape,
    assert_unchanged,
)
from grader.feedback.gradients import assert_gradients

AXES = ("batch", "query", "d_model")


def identities(d_model: int, n_heads: int) -> Any:
    """Return a layer in evaluation mode whose four maps change nothing."""
    module: Any = MultiHeadAttention(d_model, n_heads).eval()
    for linear in (module.q_proj, module.k_proj, module.v_proj, module.out_proj):
        nn.init.eye_(linear.weight)
        nn.init.zeros_(linear.bias)
    return module


def test_split_heads_by_hand() -> None:
    """Each head gets its own features of every token.

    Two tokens of six features are split into three heads.
    """
    x = torch.tensor([[[1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60]]])
    expected = torch.tensor([[[[1, 2], [10, 20]], [[3, 4], [30, 40]], [[5, 6], [50, 60]]]])
    axes = ("batch", "head", "length", "d_head")
    help = "Print the shape after each step. Where are the heads, and where is the length?"
    cut = "Cut the features of each token into heads first; then move the heads in front."
    assert_matches(
        split_heads(x, 3),
        expected,
        "split_heads(x, 3)",
        axes=axes,
        help=help,
        asks={
            cut: x.reshape(1, 3, 2, 2),
            "Neighbouring features belong to one head: which size comes first?": torch.tensor(
                [[[[1, 4], [10, 40]], [[2, 5], [20, 50]], [[3, 6], [30, 60]]]]
            ),
            "Are heads and length swapped?": expected.transpose(1, 2),
        },
    )


@given(batch=st.integers(1, 3), length=st.integers(1, 5), n_heads=st.integers(1, 4))
def test_merge_heads_undoes_split_heads(batch: int, length: int, n_heads: int) -> None:
    """Merging undoes splitting."""
    x = torch.arange(batch * length * n_heads * 2).reshape(batch, length, n_heads * 2)
    merged = merge_heads(split_heads(x, n_heads))
    help = "First move the heads behind the length, then join the last two axes."
    axes = ("batch", "length", "d_model")
    assert_matches(merged, x, "merge_heads of the split x", axes=axes, help=help)


def test_its_parameters() -> None:
    """The parameters are those of q_proj, k_proj, v_proj and out_proj."""
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
    """No two of the four maps share their numbers."""
    module = MultiHeadAttention(d_model=4, n_heads=2)
    names = [f"{name}.weight" for name in ("out_proj", "v_proj", "k_proj", "q_proj")]
    with torch.no_grad():
        for number, name in enumerate(names):
            module.get_parameter(name).fill_(number)
    for number, name in enumerate(names):
        if (module.get_parameter(name) != number).any():
            raise Mismatch(
                f"`{name}` shares its numbers with another map of MultiHeadAttention(4, 2).",
                help="Does `__init__` create an nn.Linear for each of the four?",
                points_at="__init__",
            )


def test_every_map_by_hand() -> None:
    """Each map has its own numbers, worked out with a pencil.

    There is one head of one feature.

    The query 1 becomes 2 * 1 + 1 = 3. The keys 0 and log 2 become a third of that, so the scores
    are 0 and log 2, and the weights 1/3 and 2/3. The values 3 and 6 become 30 and 60, whose average
    is 50. The output is 2 * 50 + 7 = 107.
    """
    module: Any = MultiHeadAttention(d_model=1, n_heads=1).eval()
    for name, weight, bias in (
        ("q_proj", 2.0, 1.0),
        ("k_proj", 1 / 3, 0.0),
        ("v_proj", 10.0, 0.0),
        ("out_proj", 2.0, 7.0),
    ):
        nn.init.constant_(module.get_parameter(f"{name}.weight"), weight)
        nn.init.constant_(module.get_parameter(f"{name}.bias"), bias)
    query, key = torch.tensor([[[1.0]]]), torch.tensor([[[0.0], [log(2)]]])
    assert_matches(
        module(query, key, torch.tensor([[[3.0], [6.0]]])),
        torch.tensor([[[107.0]]]),
        "MultiHeadAttention output",
        axes=AXES,
        help="Print what each map returns: query 3, keys 0 and log 2 / 3, values 30 and 60.",
        asks={
            "50 is the average of the values. Does it go through out_proj?": torch.tensor(
                [[[50.0]]]
            ),
            "What is averaged under the weights: the values, or the keys?": torch.tensor(
                [[[20 * 2 / 3 * log(2) + 7]]]
            ),
            "Do the values go through v_proj?": torch.tensor([[[17.0]]]),
        },
    )


def test_each_head_attends_on_its_own() -> None:
    """Each head is attention on its own share of the features.

    The four maps are set to the identity, so they change nothing.
    """
    torch.manual_seed(0)
    module = identities(6, 3)
    query, key, value = torch.randn(2, 3, 6), torch.randn(2, 5, 6), torch.randn(2, 5, 6)
    parts = [slice(0, 2), slice(2, 4), slice(4, 6)]
    heads = [attention(query[..., p], key[..., p], value[..., p])[0] for p in parts]
    assert_matches(
        module(query, key, value),
        torch.cat(heads, dim=-1),
        "MultiHeadAttention output",
        axes=AXES,
        help="There are three heads of two features each. Does each attend with its own two?",
        asks={
            "What are a head's scores divided by? It has d_model / n_heads features.": torch.cat(
                [attention(query[..., p] / 3**0.5, key[..., p], value[..., p])[0] for p in parts],
                -1,
            ),
            "Is there a second scale? `attention` divides already.": torch.cat(
                [attention(query[..., p] / 2**0.5, key[..., p], value[..., p])[0] for p in parts],
                -1,
            ),
            "Does a single head use all features here?": attention(query, key, value)[0],
            "Are there two heads of three features? What does n_heads mean?": torch.cat(
                [
                    attention(query[..., p], key[..., p], value[..., p])[0]
                    for p in (slice(0, 3), slice(3, 6))
                ],
                -1,
            ),
        },
    )


def test_a_mask_for_each_head() -> None:
    """With a mask for each head, each of two heads sees a different token.

    The first head sees only the first token, the second head only the second.

    A mask may have four axes or three. With three, the first is the heads' axis. An axis of size 1
    stands for all heads.
    """
    module = identities(2, 2)
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    mask = torch.tensor([[[True, False]], [[False, True]]])
    expected = torch.tensor([[[1.0, 4.0]], [[5.0, 8.0]]]).expand(2, 2, 2)
    for shaped in (mask[None], mask):
        what = f"MultiHeadAttention output with a mask of {shaped.dim()} axes"
        help = "Does the mask reach your attention unchanged? It broadcasts from the right."
        assert_matches(module(x, x, x, shaped), expected, what, axes=AXES, help=help)
    first = torch.tensor([True, False]).reshape(1, 1, 1, 2)
    what = "MultiHeadAttention output with a mask of shape (1, 1, 1, 2)"
    assert_matches(module(x, x, x, first), x[:, :1].expand(2, 2, 2), what, axes=AXES)


def test_rows_without_keys_and_large_scores() -> None:
    """Large scores, or no visible key at all, give finite numbers.

    The scores are 1000 * 1 and 0, so the first query gets the first value, 1000.
    """
    module = identities(1, 1)
    x = torch.tensor([[[1000.0], [0.0]]])
    mask = torch.tensor([[True, True], [False, False]])
    output = module(x, x / 1000, x, mask)
    assert_finite(output, "MultiHeadAttention output", axes=AXES)
    expected = torch.tensor([[[1000.0]]])
    assert_matches(output[:, :1], expected, "MultiHeadAttention output, first query,", axes=AXES)


def test_no_dropout_unless_asked_for() -> None:
    """Without `dropout`, training and evaluation give the same.

    The default of `dropout` is 0.
    """
    torch.manual_seed(2)
    module, x = MultiHeadAttention(d_model=4, n_heads=2), torch.randn(2, 8, 4)
    trained = module.train()(x, x, x)
    sides = ("training", "evaluation")
    what = "MultiHeadAttention output"
    assert_matches(trained, module.eval()(x, x, x), what, axes=AXES, sides=sides)


def test_gradients() -> None:
    """Gradients flow back to query, key, value and every map."""
    torch.manual_seed(3)
    module = MultiHeadAttention(d_model=2, n_heads=2).eval()
    given = {name: torch.randn(1, 3, 2).requires_grad_() for name in ("query", "key", "value")}
    everything = {**given, **dict(module.named_parameters())}
    assert_gradients(lambda: module(*given.values()), everything, "MultiHeadAttention output")


def test_another_length() -> None:
    """The next call may have a different batch size and length."""
    torch.manual_seed(4)
    module = MultiHeadAttention(d_model=4, n_heads=2).eval()
    for batch, length in ((2, 3), (1, 5)):
        x = torch.randn(batch, length, 4)
        output = module(x, x, x, torch.ones(length, length).bool())
        shape = {"batch": batch, "query": length, "d_model": 4}
        assert_shape(output, shape, "MultiHeadAttention output")


def test_a_hidden_key_changes_nothing() -> None:
    """A key that the mask hides does not affect the output."""
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


def test_the_heads_must_divide_evenly() -> None:
    """Ten features and three heads raise ValueError."""
    with assert_raises(ValueError, "MultiHeadAttention(d_model=10, n_heads=3)"):
        MultiHeadAttention(d_model=10, n_heads=3)


def test_dropout_takes_weights_away() -> None:
    """With dropout 0.5, weights of 1/4 become 0 or 1/2 in training.

    All values are 1, so the output is the sum of the weights: 0, 1/2, 1, 3/2 or 2, the same in all
    features of a head. In evaluation it is 1.
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
        raise Mismatch(f"Nothing is dropped in your {what}.", help="Is `dropout` passed on?")
    heads = found[..., ::2].repeat_interleave(2, -1)
    expected = (2 * heads).round().clamp(0, 4) / 2
    help = "Does your dropout act on the weights, once, and on nothing else?"
    assert_matches(found, expected, what, axes=axes, help=help)


def test_the_caller_keeps_its_tensors() -> None:
    """Query, key and value are not modified."""
    torch.manual_seed(6)
    given = {name: torch.randn(2, 3, 4) for name in ("query", "key", "value")}
    before = {name: tensor.clone() for name, tensor in given.items()}
    MultiHeadAttention(d_model=4, n_heads=2)(*given.values())
    for name, tensor in given.items():
        assert_unchanged(tensor, before[name], name)


def test_the_defaults() -> None:
    """The defaults: no dropout, and maps with a bias."""
    assert_defaults(MultiHeadAttention, dropout=0.0, bias=True)
