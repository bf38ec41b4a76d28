"""Public tests of decoder. Run them with: pytest exercises/test_decoder.py."""

from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from exercises.decoder import Decoder, DecoderLayer
from exercises.feed_forward import FeedForward
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_finite,
    assert_matches,
    assert_parameters,
    assert_unchanged,
)
from grader.feedback.parts import where_to_look

AXES = ("batch", "target", "d_model")


def with_torchs_names(layer: Any) -> dict[str, Tensor]:
    """Return the weights of a layer under the names that they have in PyTorch's layer."""
    weights = {}
    for part in ("weight", "bias"):
        for name, own in (("self_attn", "self_attn"), ("multihead_attn", "cross_attn")):
            stacked = [layer.get_parameter(f"{own}.{which}_proj.{part}") for which in "qkv"]
            weights[f"{name}.in_proj_{part}"] = torch.cat(stacked)
        for name, own in (
            ("self_attn.out_proj", "self_attn.out_proj"),
            ("multihead_attn.out_proj", "cross_attn.out_proj"),
            ("linear1", "feed_forward.linear1"),
            ("linear2", "feed_forward.linear2"),
            ("norm1", "sublayers.0.norm"),
            ("norm2", "sublayers.1.norm"),
            ("norm3", "sublayers.2.norm"),
        ):
            weights[f"{name}.{part}"] = layer.get_parameter(f"{own}.{part}")
    return weights


def torch_layer(norm_first: bool, activation: str = "relu") -> nn.TransformerDecoderLayer:
    """Return PyTorch's own layer, with the sizes that these tests use."""
    return nn.TransformerDecoderLayer(
        6, 2, 8, 0.0, activation, batch_first=True, norm_first=norm_first
    )


# What a layer with d_model = 6 and d_ff = 8 holds.
MAPS = [f"{attn}.{name}_proj" for attn in ("self_attn", "cross_attn") for name in "qkv"]
SHAPES = {
    **{f"{name}.weight": (6, 6) for name in MAPS},
    **{f"{name}.bias": (6,) for name in MAPS},
    **{f"{attn}.out_proj.weight": (6, 6) for attn in ("self_attn", "cross_attn")},
    **{f"{attn}.out_proj.bias": (6,) for attn in ("self_attn", "cross_attn")},
    "feed_forward.linear1.weight": (8, 6),
    "feed_forward.linear1.bias": (8,),
    "feed_forward.linear2.weight": (6, 8),
    "feed_forward.linear2.bias": (6,),
    **{f"sublayers.{i}.norm.{part}": (6,) for i in (0, 1, 2) for part in ("weight", "bias")},
}


def test_the_parameters_of_a_layer() -> None:
    """A layer has two attentions, a feed-forward network and three norms."""
    layer = DecoderLayer(d_model=6, n_heads=2, d_ff=8)
    assert_parameters(layer, SHAPES, "DecoderLayer(6, 2, 8)")


def test_the_parameters_of_the_stack() -> None:
    """A norm follows the last layer in pre-norm only."""
    layers = {f"layers.{i}.{name}": shape for i in range(3) for name, shape in SHAPES.items()}
    norm = {"norm.weight": (6,), "norm.bias": (6,)}
    for norm_first in (False, True):
        decoder: Any = Decoder(3, d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        shapes = {**layers, **norm} if norm_first else layers
        what = f"Decoder(3, 6, 2, 8, norm_first={norm_first})"
        help = "Are the layers kept in an nn.ModuleList?"
        if not isinstance(decoder.layers, nn.Module):
            raise Mismatch(f"`layers` of {what} is not a module.", help=help, points_at="__init__")
        held = getattr(decoder.layers, "__len__", lambda: 3)()
        if held != 3:
            headline = f"`layers` of {what} has the length {held}; there should be 3 layers."
            raise Mismatch(headline, points_at="__init__")
        ask = "`norm`, after the layers, is a LayerNorm in pre-norm and None in post-norm."
        assert_parameters(decoder, shapes, what, {"norm.*": ask})


def test_the_layers_share_nothing() -> None:
    """No two layers share parameters."""
    decoder: Any = Decoder(2, d_model=6, n_heads=2, d_ff=8)
    first, second = ({id(one) for one in layer.parameters()} for layer in decoder.layers)
    if first & second:
        raise Mismatch(
            "The layers of your Decoder share their parameters.",
            help="Is one layer in the nn.ModuleList several times? Make a new one for each.",
            points_at="__init__",
        )


def test_a_layer_agrees_with_torch() -> None:
    """A layer agrees with PyTorch's own, given the same weights."""
    torch.manual_seed(0)
    x, memory = torch.randn(3, 4, 6), torch.randn(3, 5, 6)
    for norm_first, activation in product((False, True), ("relu", "gelu")):
        layer: Any = DecoderLayer(6, 2, 8, activation=activation, norm_first=norm_first).eval()
        for parameter in layer.parameters():
            nn.init.normal_(parameter, std=0.5)
        own = torch_layer(norm_first, activation)
        own.load_state_dict(with_torchs_names(layer))
        what = f"DecoderLayer output with norm_first={norm_first} and {activation}"
        other = torch_layer(not norm_first, activation)
        other.load_state_dict(own.state_dict())
        told = f"These are the numbers of norm_first={not norm_first}. Is it passed on?"
        asks = {told: other(x, memory)}
        if activation == "gelu":
            relu = torch_layer(norm_first)
            relu.load_state_dict(own.state_dict())
            asks["These are the numbers of relu. Is `activation` passed on?"] = relu(x, memory)
        output, expected = layer(x.clone(), memory.clone()), own(x, memory)
        is_comparable = output.shape == expected.shape
        is_wrong = is_comparable and not torch.allclose(output, expected, atol=1e-4)
        lengths = (
            "x has 4 tokens here, the memory 5. For which of them does each sublayer return a "
        )
        help = question(layer, own, x, memory) if is_wrong else f"{lengths}row?"
        assert_matches(output, expected, what, axes=AXES, help=help, asks=asks)


def question(layer: Any, own: nn.Module, x: Tensor, memory: Tensor) -> str:
    """Return what is right in a layer and what is not, compared with PyTorch's own."""

    def agrees() -> bool:
        own.load_state_dict(with_torchs_names(layer))
        return torch.allclose(layer(x.clone(), memory.clone()), own(x, memory), atol=1e-4)

    parts = ("self_attn.out_proj", "cross_attn.out_proj", "feed_forward.linear2")
    return where_to_look(layer, parts, agrees)


def test_masks_for_each_head() -> None:
    """A mask with three axes has one part for each head.

    The first head may not look ahead, nor see the last source token; the second sees everything.
    """
    torch.manual_seed(7)
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    tgt_mask = torch.stack([torch.ones(4, 4).tril(), torch.ones(4, 4)]).bool()
    memory_mask = torch.ones(2, 4, 5).bool()
    memory_mask[0, :, 4] = False
    layer: Any = DecoderLayer(d_model=6, n_heads=2, d_ff=8).eval()
    own = torch_layer(norm_first=False)
    own.load_state_dict(with_torchs_names(layer))
    for what, masks in (
        ("tgt_mask", {"tgt_mask": tgt_mask}),
        ("memory_mask", {"memory_mask": memory_mask}),
    ):
        expected = own(x, memory, **{name: ~one.repeat(2, 1, 1) for name, one in masks.items()})
        help = f"Which attention should receive the {what}, and does it arrive unchanged?"
        what = f"DecoderLayer output with a {what} for each head"
        assert_matches(
            layer(x.clone(), memory.clone(), **masks), expected, what, axes=AXES, help=help
        )


def test_no_look_into_the_future() -> None:
    """Under a causal mask, later tokens do not affect earlier ones."""
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
        help="Does tgt_mask reach self-attention in every layer? And does each get memory?",
        sides=("other future", "before"),
    )


def test_a_hidden_source_token_changes_nothing() -> None:
    """Source tokens that memory_mask hides do not affect the output."""
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
        help="Does memory_mask reach cross-attention?",
        sides=("other memory", "before"),
    )


def test_the_stack() -> None:
    """A stack agrees with PyTorch's own decoder, given the same weights.

    In pre-norm the decoder has a norm after its layers; in post-norm it has none.
    """
    torch.manual_seed(3)
    x, memory = torch.randn(2, 4, 6).requires_grad_(), torch.randn(2, 5, 6).requires_grad_()
    tgt_mask = torch.ones(4, 4).tril().bool()
    memory_mask = torch.tensor([True, True, False, True, False]).expand(4, 5)
    for norm_first in (False, True):
        decoder: Any = Decoder(2, d_model=6, n_heads=2, d_ff=8, norm_first=norm_first).eval()
        for parameter in decoder.parameters():
            nn.init.normal_(parameter, std=0.5)
        has_norm = "norm.weight" in dict(decoder.named_parameters())
        if has_norm != norm_first:
            raise Mismatch(
                f"With norm_first={norm_first}, your Decoder has "
                f"{'a' if has_norm else 'no'} norm after its layers.",
                help="Its `norm` is a LayerNorm in pre-norm, and None in post-norm.",
                points_at="__init__",
            )
        norm = nn.LayerNorm(6) if norm_first else None
        own = nn.TransformerDecoder(torch_layer(norm_first), 2, norm)
        for index, layer in enumerate(decoder.layers):
            own.layers[index].load_state_dict(with_torchs_names(layer))
        if norm is not None:
            norm.load_state_dict(decoder.norm.state_dict())
        what = f"Decoder output with norm_first={norm_first}"
        help = (
            "Is each layer used? Its x is what the one before it returns; the memory is the same "
            "for all."
        )
        found, expected = decoder(x.clone(), memory.clone()), own(x, memory)
        own.norm = None
        asks = {"Is the norm after the layers applied?": own(x, memory)} if norm_first else {}
        assert_matches(found, expected, what, axes=AXES, help=help, asks=asks)
        own.norm = norm
        masks = {"tgt_mask": ~tgt_mask, "memory_mask": ~memory_mask}
        expected = own(x, memory, **masks)
        asks = {
            "Does memory_mask reach every layer?": own(x, memory, tgt_mask=~tgt_mask),
            "Does tgt_mask reach every layer?": own(x, memory, memory_mask=~memory_mask),
            "Do the masks reach every layer?": own(x, memory),
        }
        what += " and both masks"
        help = "Each layer takes what the one before it returns, the memory and both masks."
        found = decoder(x.clone(), memory.clone(), tgt_mask, memory_mask)
        assert_matches(found, expected, what, axes=AXES, help=help, asks=asks)
        theirs, right = (
            torch.autograd.grad(one[..., 0].sum(), (x, memory), allow_unused=True)
            for one in (found, expected)
        )
        for name, gradient, wanted in zip(("x", "memory"), theirs, right, strict=True):
            what, help = f"gradient of {name}", "Is something detached?"
            assert_matches(gradient, wanted, what, help=help)


def test_options_reach_every_layer() -> None:
    """norm_first and activation reach each layer of a stack.

    No two layers share parameters. In pre-norm, a layer whose sublayers return zeros returns its
    input.
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
    """Each connection has its own norm, and each attention its own maps."""
    layer: Any = DecoderLayer(d_model=6, n_heads=2, d_ff=8)
    norms = {id(sublayer.norm.weight) for sublayer in layer.sublayers}
    if len(norms) < 3:
        raise Mismatch(
            f"The 3 connections of your DecoderLayer share their norms: there "
            f"{'is only one' if len(norms) == 1 else 'are only two'}.",
            help="Does each sublayer have its own SublayerConnection?",
            points_at="__init__",
        )
    if layer.self_attn.q_proj.weight is layer.cross_attn.q_proj.weight:
        raise Mismatch(
            "self_attn and cross_attn of your DecoderLayer share their maps.",
            help="Does each of the two have its own MultiHeadAttention?",
            points_at="__init__",
        )


def parts_drop_as_they_should() -> bool:
    """Return whether dropout works in the parts of a layer; if not, their own tests say so."""
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

    All weights are 0 except one bias, so that only one sublayer at a time adds 1 everywhere.
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
        output = layer.train()(x.clone(), memory)
        added = torch.where((output - x).abs() < 1e-3, 0.0, 2.0)
        help = "Is the probability passed on, and is there one dropout after each sublayer?"
        assert_matches(output, x + added, what, axes=AXES, help=help)
        assert_matches(
            layer.eval()(x.clone(), memory), x + 1, "DecoderLayer output in evaluation", axes=AXES
        )


def test_x_and_memory_are_not_modified() -> None:
    """x and the memory are unchanged after the call, in both orders."""
    torch.manual_seed(5)
    for norm_first in (False, True):
        layer: Any = DecoderLayer(d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        decoder: Any = Decoder(1, d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        for module in (layer, decoder):
            x, memory = torch.randn(2, 8, 6), torch.randn(2, 3, 6)
            before, memory_before = x.clone(), memory.clone()
            module(x, memory)
            assert_unchanged(x, before, "x", axes=AXES)
            assert_unchanged(memory, memory_before, "memory")


def test_dropout_inside_every_sublayer() -> None:
    """Dropout acts inside all three sublayers.

    The values are 1, and so are the network's 8 inner features. Each is dropped or doubled before
    the sublayer averages them, so the average is a multiple of 1/4, and what the sublayer returns
    is dropped or doubled once more. So 0, 1/2, 1, 3/2 and so on is added to x; without dropout
    inside, it would be 0 or 2.
    """
    torch.manual_seed(8)
    stack: Any = Decoder(1, 6, n_heads=2, d_ff=8, dropout=0.5, norm_first=True)
    if not parts_drop_as_they_should():
        return
    layer = stack.layers[0].train()
    x, memory = torch.randn(4, 8, 6), torch.randn(4, 8, 6)
    for part in ("self_attn", "cross_attn", "feed_forward"):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        if part != "feed_forward":
            nn.init.ones_(layer.get_parameter(f"{part}.v_proj.bias"))
            nn.init.eye_(layer.get_parameter(f"{part}.out_proj.weight"))
        else:
            nn.init.ones_(layer.get_parameter("feed_forward.linear1.bias"))
            nn.init.constant_(layer.get_parameter("feed_forward.linear2.weight"), 1 / 8)
        added = layer(x.clone(), memory) - x
        what = f"change of x by `{part}` in training"
        help = "Does `dropout`, here 0.5, reach every part that has one?"
        assert_matches(added, (2 * added).round() / 2, what, axes=AXES, help=help)
        inside = "no weight" if part != "feed_forward" else "no number between the two maps"
        inside += f" of `{part}`"
        if set(added.round(decimals=2).abs().unique().tolist()) <= {0.0, 2.0}:
            raise Mismatch(
                f"With dropout=0.5, {inside} of a Decoder's layer is dropped.",
                help="Is `dropout` passed on to every part that has one?",
                points_at="__init__",
            )


def test_dropout_on_nothing_else() -> None:
    """Dropout acts on the sublayers and on nothing else.

    Where they return zeros, training and evaluation give the same.

    So no part of x, of the sums or of what the norms return is dropped.
    """
    torch.manual_seed(9)
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    for norm_first in (False, True):
        layer: Any = DecoderLayer(6, n_heads=2, d_ff=8, dropout=0.5, norm_first=norm_first)
        for name, parameter in layer.named_parameters():
            if "norm" not in name:
                nn.init.zeros_(parameter)
        what = f"DecoderLayer output with norm_first={norm_first}"
        help = "Does dropout act on what each sublayer returns, before the sum?"
        trained, sides = layer.train()(x.clone(), memory), ("training", "evaluation")
        assert_matches(trained, layer.eval()(x, memory), what, axes=AXES, help=help, sides=sides)


def test_dropout_if_none_is_given() -> None:
    """Without the argument `dropout`, it is 0.1.

    What a sublayer adds becomes 0 or 1 / 0.9."""
    torch.manual_seed(10)
    stack: Any = Decoder(1, d_model=6, n_heads=2, d_ff=8, norm_first=True)
    if not parts_drop_as_they_should():
        return
    x, memory = torch.zeros(4, 8, 6), torch.zeros(4, 3, 6)
    for layer in (stack.layers[0], DecoderLayer(6, n_heads=2, d_ff=8, norm_first=True)):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        nn.init.ones_(layer.get_parameter("self_attn.out_proj.bias"))
        output = layer.train()(x, memory)
        expected = torch.where(output.abs() < 1e-3, 0.0, 1 / 0.9)
        what = "DecoderLayer output in training, without the argument dropout,"
        assert_matches(output, expected, what, axes=AXES)


def test_a_token_that_sees_nothing() -> None:
    """A token that may attend to nothing gets finite numbers."""
    torch.manual_seed(11)
    x, memory = torch.randn(2, 2, 6), torch.randn(2, 3, 6)
    layer = DecoderLayer(d_model=6, n_heads=2, d_ff=8).eval()
    tgt_mask = torch.tensor([[True, True], [False, False]])
    output = layer(x, memory, tgt_mask, torch.zeros(2, 3).bool())
    assert_finite(output, "DecoderLayer output", axes=AXES)


def test_the_defaults() -> None:
    """The defaults: dropout 0.1, ReLU and post-norm."""
    assert_defaults(DecoderLayer, dropout=0.1, activation="relu", norm_first=False)
    assert_defaults(Decoder, dropout=0.1, activation="relu", norm_first=False)
