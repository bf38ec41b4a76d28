"""Public tests of decoder. Run them with: pytest exercises/test_decoder.py."""

from typing import Any

import torch
from torch import nn

from exercises.decoder import Decoder, DecoderLayer
from exercises.feed_forward import FeedForward
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection
from grader.feedback.comparison import Mismatch, assert_matches

AXES = ("batch", "target", "d_model")


def test_the_layers_share_nothing() -> None:
    """Three layers have three times the parameters of one."""
    one = len(list(Decoder(1, d_model=6, n_heads=2, d_ff=8).parameters()))
    three = len(list(Decoder(3, d_model=6, n_heads=2, d_ff=8).parameters()))
    assert three == 3 * one > 0, (
        f"One layer of your Decoder has {one} parameter tensors, three have {three}. "
        "Are your layers different objects, kept in an nn.ModuleList?"
    )


def test_three_steps() -> None:
    """Look at the target, look at the memory, feed forward.

    Each step is summed and normalised.
    """
    torch.manual_seed(0)
    layer: Any = DecoderLayer(d_model=6, n_heads=2, d_ff=8).eval()
    x, memory = torch.randn(3, 4, 6), torch.randn(3, 5, 6)
    first, second, third = (sublayer.norm for sublayer in layer.sublayers)
    y = first(x + layer.self_attn(x, x, x))
    y = second(y + layer.cross_attn(y, memory, memory))
    expected = third(y + layer.feed_forward(y))
    assert_matches(layer(x, memory), expected, "DecoderLayer output", axes=AXES)


def test_no_look_into_the_future() -> None:
    """What comes later changes nothing before it.

    The causal mask is given.
    """
    torch.manual_seed(1)
    decoder = Decoder(num_layers=2, d_model=6, n_heads=2, d_ff=8).eval()
    x, memory = torch.randn(2, 5, 6), torch.randn(2, 3, 6)
    other = x.clone()
    other[:, 3:] = 7.0
    mask = torch.ones(5, 5).tril().bool()
    assert_matches(
        decoder(other, memory, mask)[:, :3],
        decoder(x, memory, mask)[:, :3],
        "Decoder output",
        axes=AXES,
        help="Does tgt_mask reach the self-attention?",
        sides=("other future", "before"),
    )


def test_a_hidden_source_token_changes_nothing() -> None:
    """Where memory_mask is False, another memory gives the same output."""
    torch.manual_seed(2)
    layer: Any = DecoderLayer(d_model=6, n_heads=3, d_ff=8, norm_first=True).eval()
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 3, 6)
    other = memory.clone()
    other[:, 2] = 7.0
    mask = torch.tensor([True, True, False])
    assert_matches(
        layer(x, other, memory_mask=mask),
        layer(x, memory, memory_mask=mask),
        "DecoderLayer output",
        axes=AXES,
        help="Does memory_mask reach the attention to the memory?",
        sides=("other memory", "before"),
    )


def test_the_stack() -> None:
    """Every layer looks at the same memory.

    A norm follows the layers only with norm_first.
    """
    torch.manual_seed(3)
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    post: Any = Decoder(num_layers=2, d_model=6, n_heads=2, d_ff=8).eval()
    expected = post.layers[1](post.layers[0](x, memory), memory)
    assert_matches(post(x, memory), expected, "Decoder output", axes=AXES)
    pre: Any = Decoder(num_layers=2, d_model=6, n_heads=2, d_ff=8, norm_first=True).eval()
    expected = pre.norm(pre.layers[1](pre.layers[0](x, memory), memory))
    assert_matches(pre(x, memory), expected, "Decoder output with norm_first=True", axes=AXES)
    if post.norm is not None:
        raise Mismatch(
            "Your Decoder has a norm after the layers in post-norm, too.",
            help="There, `norm` is None: each layer has normalised its own sum.",
            points_at="__init__",
        )
    masks = torch.ones(4, 4).tril().bool(), torch.tensor([True, True, False, True, False])
    expected = post.layers[1](post.layers[0](x, memory, *masks), memory, *masks)
    what = "Decoder output with both masks"
    assert_matches(post(x, memory, *masks), expected, what, axes=AXES)


def test_options_reach_every_layer() -> None:
    """Each layer of a stack gets norm_first and activation.

    And it has parameters of its own.

    In pre-norm, a layer whose sublayers find nothing hands back its input.
    """
    torch.manual_seed(6)
    stack: Any = Decoder(2, d_model=6, n_heads=2, d_ff=8, activation="gelu", norm_first=True).eval()
    shared = {id(p) for p in stack.layers[0].parameters()} & {
        id(p) for p in stack.layers[1].parameters()
    }
    if shared:
        raise Mismatch("The layers of your Decoder share parameters.", points_at="__init__")
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    gelu = FeedForward(6, 8, activation="gelu").eval()
    gelu.load_state_dict(stack.layers[0].feed_forward.state_dict())
    found = stack.layers[0].feed_forward(x)
    assert_matches(found, gelu(x), "feed_forward of a layer with activation='gelu'", axes=AXES)
    for parameter in stack.layers[0].parameters():
        nn.init.zeros_(parameter)
    what = "DecoderLayer output with weights of zero and norm_first=True"
    assert_matches(stack.layers[0](x, memory), x, what, axes=AXES)


def test_nothing_in_a_layer_is_shared() -> None:
    """Three connections have three norms, two attentions their own maps."""
    layer: Any = DecoderLayer(d_model=6, n_heads=2, d_ff=8)
    norms = {id(sublayer.norm.weight) for sublayer in layer.sublayers}
    if len(norms) < 3:
        raise Mismatch(
            f"The connections of your DecoderLayer have {len(norms)} norms between them, not 3.",
            help="Is a SublayerConnection made for each?",
            points_at="__init__",
        )
    if layer.self_attn.q_proj.weight is layer.cross_attn.q_proj.weight:
        raise Mismatch(
            "self_attn and cross_attn of your DecoderLayer share their maps.",
            help="Is a MultiHeadAttention made for each?",
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
    layer: Any = DecoderLayer(6, n_heads=2, d_ff=8, dropout=0.5, norm_first=True)
    if not parts_drop_as_they_should():
        return
    x, memory = torch.randn(2, 8, 6), torch.randn(2, 3, 6)
    for name in (
        "self_attn.out_proj.bias",
        "cross_attn.out_proj.bias",
        "feed_forward.linear2.bias",
    ):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        nn.init.ones_(layer.get_parameter(name))
        what = f"DecoderLayer output in training, where only `{name}` is not 0,"
        output = layer.train()(x, memory)
        added = torch.where((output - x).abs() < 1e-3, 0.0, 2.0)
        help = "Is the probability handed on, and is there one dropout behind each sublayer?"
        assert_matches(output, x + added, what, axes=AXES, help=help)
        assert_matches(
            layer.eval()(x, memory), x + 1, "DecoderLayer output in evaluation", axes=AXES
        )


def test_the_caller_keeps_its_tensors() -> None:
    """x and the memory are after the call what they were, in both orders."""
    torch.manual_seed(5)
    for norm_first in (False, True):
        layer: Any = DecoderLayer(d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        x, memory = torch.randn(2, 8, 6), torch.randn(2, 3, 6)
        given = [x, memory]
        before = [tensor.clone() for tensor in given]
        layer(*given)
        for tensor, old in zip(given, before, strict=True):
            assert_matches(tensor, old, "input after the call", sides=("after", "before"))
