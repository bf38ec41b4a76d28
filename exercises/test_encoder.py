"""Public tests of encoder. Run them with: pytest exercises/test_encoder.py."""

from typing import Any

import torch
from torch import nn

from exercises.encoder import Encoder, EncoderLayer
from exercises.feed_forward import FeedForward
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection
from grader.feedback.comparison import Mismatch, assert_matches

AXES = ("batch", "length", "d_model")


def test_the_layers_share_nothing() -> None:
    """Three layers have three times the parameters of one."""
    one = len(list(Encoder(1, d_model=6, n_heads=2, d_ff=8).parameters()))
    three = len(list(Encoder(3, d_model=6, n_heads=2, d_ff=8).parameters()))
    assert three == 3 * one > 0, (
        f"One layer of your Encoder has {one} parameter tensors, three have {three}. "
        "Are your layers different objects, kept in an nn.ModuleList?"
    )


def test_norm_after_the_sums() -> None:
    """Attention, sum, norm; then feed-forward, sum, norm."""
    torch.manual_seed(0)
    layer: Any = EncoderLayer(d_model=6, n_heads=2, d_ff=8).eval()
    x = torch.randn(3, 4, 6)
    first, second = layer.sublayers[0].norm, layer.sublayers[1].norm
    middle = first(x + layer.self_attn(x, x, x))
    expected = second(middle + layer.feed_forward(middle))
    assert_matches(layer(x), expected, "EncoderLayer output", axes=AXES)


def test_norm_first() -> None:
    """With norm_first: norm, attention, sum; then norm, feed-forward, sum."""
    torch.manual_seed(1)
    layer: Any = EncoderLayer(d_model=6, n_heads=3, d_ff=8, norm_first=True).eval()
    x = torch.randn(2, 5, 6)
    first, second = layer.sublayers[0].norm, layer.sublayers[1].norm
    normed = first(x)
    middle = x + layer.self_attn(normed, normed, normed)
    expected = middle + layer.feed_forward(second(middle))
    assert_matches(layer(x), expected, "EncoderLayer output with norm_first=True", axes=AXES)


def test_a_hidden_token_changes_nothing() -> None:
    """A token that the mask hides changes nothing elsewhere."""
    torch.manual_seed(2)
    encoder = Encoder(num_layers=2, d_model=6, n_heads=2, d_ff=8).eval()
    x = torch.randn(2, 4, 6)
    other = x.clone()
    other[:, 3] = 7.0
    mask = torch.tensor([True, True, True, False])
    assert_matches(
        encoder(other, mask)[:, :3],
        encoder(x, mask)[:, :3],
        "Encoder output",
        axes=AXES,
        help="Does the mask reach the attention of each layer?",
        sides=("other token", "before"),
    )


def test_the_stack() -> None:
    """The layers work one after the other.

    A norm follows them only with norm_first.
    """
    torch.manual_seed(3)
    x = torch.randn(2, 4, 6)
    post: Any = Encoder(num_layers=2, d_model=6, n_heads=2, d_ff=8).eval()
    expected = post.layers[1](post.layers[0](x))
    assert_matches(post(x), expected, "Encoder output", axes=AXES)
    pre: Any = Encoder(num_layers=2, d_model=6, n_heads=2, d_ff=8, norm_first=True).eval()
    expected = pre.norm(pre.layers[1](pre.layers[0](x)))
    assert_matches(pre(x), expected, "Encoder output with norm_first=True", axes=AXES)


def test_nothing_in_a_layer_is_shared() -> None:
    """The two connections have two norms."""
    layer: Any = EncoderLayer(d_model=6, n_heads=2, d_ff=8)
    norms = {id(sublayer.norm.weight) for sublayer in layer.sublayers}
    if len(norms) < 2:
        raise Mismatch(
            f"The connections of your EncoderLayer have {len(norms)} norms between them, not 2.",
            help="Is a SublayerConnection made for each?",
            points_at="__init__",
        )


def parts_drop_as_they_should() -> bool:
    """Whether what a layer is made of drops what it should; where not, its own tests say so."""
    ones = torch.ones(2, 8, 6)
    attention, network = MultiHeadAttention(6, 2, dropout=0.5), FeedForward(6, 8, dropout=0.5)
    for parameter in (*attention.parameters(), *network.parameters()):
        nn.init.zeros_(parameter)
    nn.init.ones_(attention.get_parameter("out_proj.bias"))
    nn.init.ones_(network.get_parameter("linear2.bias"))
    inside = torch.equal(attention(ones, ones, ones), ones) and torch.equal(network(ones), ones)
    connection = SublayerConnection(6, dropout=0.5, norm_first=True)
    added = (connection(ones, torch.ones_like) - ones).unique()
    return inside and set(added.tolist()) == {0.0, 2.0}


def test_dropout_is_on_every_sublayer() -> None:
    """With dropout 0.5, what a sublayer adds becomes 0 or doubles.

    All weights are 0 but one bias, so that one sublayer after the other adds 1 everywhere.
    """
    torch.manual_seed(4)
    layer: Any = EncoderLayer(6, n_heads=2, d_ff=8, dropout=0.5, norm_first=True)
    if not parts_drop_as_they_should():
        return
    x = torch.randn(2, 8, 6)
    for name in ("self_attn.out_proj.bias", "feed_forward.linear2.bias"):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        nn.init.ones_(layer.get_parameter(name))
        what = f"EncoderLayer output in training, where only `{name}` is not 0,"
        output = layer.train()(x)
        added = torch.where((output - x).abs() < 1e-3, 0.0, 2.0)
        help = "Is the probability handed on, and is there one dropout behind each sublayer?"
        assert_matches(output, x + added, what, axes=AXES, help=help)
        assert_matches(layer.eval()(x), x + 1, "EncoderLayer output in evaluation", axes=AXES)


def test_the_caller_keeps_its_tensors() -> None:
    """x is after the call what it was, in both orders."""
    torch.manual_seed(5)
    for norm_first in (False, True):
        layer: Any = EncoderLayer(d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        x = torch.randn(2, 8, 6)
        given = [x]
        before = [tensor.clone() for tensor in given]
        layer(*given)
        for tensor, old in zip(given, before, strict=True):
            assert_matches(tensor, old, "input after the call", sides=("after", "before"))
