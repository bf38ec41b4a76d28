"""Public tests of encoder. Run them with: pytest exercises/test_encoder.py."""

from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from exercises.encoder import Encoder, EncoderLayer
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

AXES = ("batch", "length", "d_model")


def with_torchs_names(layer: Any) -> dict[str, Tensor]:
    """Return the weights of a layer under the names that they have in PyTorch's layer."""
    weights = {}
    for part in ("weight", "bias"):
        stacked = [layer.get_parameter(f"self_attn.{name}_proj.{part}") for name in "qkv"]
        weights[f"self_attn.in_proj_{part}"] = torch.cat(stacked)
        for name, own in (
            ("self_attn.out_proj", "self_attn.out_proj"),
            ("linear1", "feed_forward.linear1"),
            ("linear2", "feed_forward.linear2"),
            ("norm1", "sublayers.0.norm"),
            ("norm2", "sublayers.1.norm"),
        ):
            weights[f"{name}.{part}"] = layer.get_parameter(f"{own}.{part}")
    return weights


def torch_layer(norm_first: bool, activation: str = "relu") -> nn.TransformerEncoderLayer:
    """Return PyTorch's own layer, with the sizes that these tests use."""
    return nn.TransformerEncoderLayer(
        6, 2, 8, 0.0, activation, batch_first=True, norm_first=norm_first
    )


def question(layer: Any, own: nn.Module, x: Tensor) -> str:
    """Return what is right in a layer and what is not, compared with PyTorch's own."""

    def agrees() -> bool:
        own.load_state_dict(with_torchs_names(layer))
        return torch.allclose(layer(x.clone()), own(x), atol=1e-4)

    return where_to_look(layer, ("self_attn.out_proj", "feed_forward.linear2"), agrees)


def assert_agrees_with_torch(norm_first: bool) -> None:
    """Compare an EncoderLayer with PyTorch's own, both with the same random weights.

    The first head may not look ahead; the second sees everything.
    """
    x = torch.randn(3, 4, 6)
    mask = torch.stack([torch.ones(4, 4).tril(), torch.ones(4, 4)]).bool()
    for activation in ("relu", "gelu"):
        layer: Any = EncoderLayer(6, 2, 8, activation=activation, norm_first=norm_first).eval()
        for parameter in layer.parameters():
            nn.init.normal_(parameter, std=0.5)
        own = torch_layer(norm_first, activation)
        own.load_state_dict(with_torchs_names(layer))
        what = f"EncoderLayer output with norm_first={norm_first} and {activation}"
        other = torch_layer(not norm_first, activation)
        other.load_state_dict(own.state_dict())
        asks = {f"These are the numbers of norm_first={not norm_first}. Is it passed on?": other(x)}
        if activation == "gelu":
            relu = torch_layer(norm_first)
            relu.load_state_dict(own.state_dict())
            asks["These are the numbers of relu. Is `activation` passed on?"] = relu(x)
        output, expected = layer(x.clone()), own(x)
        is_comparable = output.shape == expected.shape
        is_wrong = is_comparable and not torch.allclose(output, expected, atol=1e-4)
        help = question(layer, own, x) if is_wrong else ""
        assert_matches(output, expected, what, axes=AXES, help=help, asks=asks)
        help = "Does the mask reach attention unchanged? It broadcasts from the right."
        expected = own(x, src_mask=~mask.repeat(3, 1, 1))
        what += " and a mask for each head"
        assert_matches(layer(x.clone(), mask), expected, what, axes=AXES, help=help)


# What a layer with d_model = 6 and d_ff = 8 holds.
SHAPES = {
    **{f"self_attn.{name}_proj.weight": (6, 6) for name in ("q", "k", "v", "out")},
    **{f"self_attn.{name}_proj.bias": (6,) for name in ("q", "k", "v", "out")},
    "feed_forward.linear1.weight": (8, 6),
    "feed_forward.linear1.bias": (8,),
    "feed_forward.linear2.weight": (6, 8),
    "feed_forward.linear2.bias": (6,),
    **{f"sublayers.{i}.norm.{part}": (6,) for i in (0, 1) for part in ("weight", "bias")},
}


def test_the_parameters_of_a_layer() -> None:
    """A layer has attention, a feed-forward network and two norms."""
    layer = EncoderLayer(d_model=6, n_heads=2, d_ff=8)
    assert_parameters(layer, SHAPES, "EncoderLayer(6, 2, 8)")


def test_the_parameters_of_the_stack() -> None:
    """A norm follows the last layer in pre-norm only."""
    layers = {f"layers.{i}.{name}": shape for i in range(3) for name, shape in SHAPES.items()}
    norm = {"norm.weight": (6,), "norm.bias": (6,)}
    for norm_first in (False, True):
        encoder: Any = Encoder(3, d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        shapes = {**layers, **norm} if norm_first else layers
        what = f"Encoder(3, 6, 2, 8, norm_first={norm_first})"
        help = "Are the layers kept in an nn.ModuleList?"
        if not isinstance(encoder.layers, nn.Module):
            raise Mismatch(f"`layers` of {what} is not a module.", help=help, points_at="__init__")
        held = getattr(encoder.layers, "__len__", lambda: 3)()
        if held != 3:
            headline = f"`layers` of {what} has the length {held}; there should be 3 layers."
            raise Mismatch(headline, points_at="__init__")
        ask = "`norm`, after the layers, is a LayerNorm in pre-norm and None in post-norm."
        assert_parameters(encoder, shapes, what, {"norm.*": ask})


def test_the_layers_share_nothing() -> None:
    """No two layers share parameters."""
    encoder: Any = Encoder(2, d_model=6, n_heads=2, d_ff=8)
    first, second = ({id(one) for one in layer.parameters()} for layer in encoder.layers)
    if first & second:
        raise Mismatch(
            "The `layers` of your Encoder share their parameters.",
            help="Is one layer in the list several times? Make a new one for each.",
            points_at="__init__",
        )


def test_norm_after_the_sums() -> None:
    """A post-norm layer agrees with PyTorch's own, given the same weights."""
    torch.manual_seed(0)
    assert_agrees_with_torch(norm_first=False)


def test_norm_first() -> None:
    """A pre-norm layer agrees with PyTorch's own, given the same weights."""
    torch.manual_seed(1)
    assert_agrees_with_torch(norm_first=True)


def test_a_hidden_token_changes_nothing() -> None:
    """A token that the mask hides does not affect the others."""
    torch.manual_seed(2)
    encoder = Encoder(num_layers=2, d_model=6, n_heads=2, d_ff=8).eval()
    x = torch.randn(2, 4, 6)
    other = x.clone()
    other[:, 3] = 7.0
    mask = torch.tensor([True, True, True, False])
    assert_matches(
        encoder(other, mask)[:, :3],
        encoder(x.clone(), mask)[:, :3],
        "Encoder output",
        axes=AXES,
        help="Does the mask reach the attention of each layer?",
        sides=("different hidden token", "before"),
    )


def test_the_stack() -> None:
    """A stack agrees with PyTorch's own encoder, given the same weights.

    In pre-norm the encoder has a norm after its layers; in post-norm it has none.
    """
    torch.manual_seed(3)
    x, mask = torch.randn(2, 4, 6).requires_grad_(), torch.ones(4, 4).tril().bool()
    for norm_first, activation in product((False, True), ("relu", "gelu")):
        options: Any = {"activation": activation, "norm_first": norm_first}
        encoder: Any = Encoder(2, d_model=6, n_heads=2, d_ff=8, **options).eval()
        for parameter in encoder.parameters():
            nn.init.normal_(parameter, std=0.5)
        has_norm = "norm.weight" in dict(encoder.named_parameters())
        if has_norm != norm_first:
            raise Mismatch(
                f"With norm_first={norm_first}, your Encoder has "
                f"{'a' if has_norm else 'no'} norm after its layers.",
                help="Its `norm` is a LayerNorm in pre-norm, and None in post-norm.",
                points_at="__init__",
            )
        norm = nn.LayerNorm(6) if norm_first else None
        one = torch_layer(norm_first, activation)
        own = nn.TransformerEncoder(one, 2, norm, enable_nested_tensor=False)
        for index, layer in enumerate(encoder.layers):
            own.layers[index].load_state_dict(with_torchs_names(layer))
        if norm is not None:
            norm.load_state_dict(encoder.norm.state_dict())
        what = f"Encoder output with norm_first={norm_first}, {activation} and a causal mask"
        help = (
            "Is each layer used once, and nothing added around it? Each gets what the one before "
            "it returns, and the mask."
        )
        output, expected = encoder(x.clone(), mask), own(x, mask=~mask)
        asks = {
            "Does the mask reach every layer?": own(x),
            "Is the last layer used?": (norm or nn.Identity())(own.layers[0](x, ~mask)),
        }
        if activation == "gelu":
            last = nn.LayerNorm(6) if norm_first else None
            relu = nn.TransformerEncoder(torch_layer(norm_first), 2, last, False)
            relu.load_state_dict(own.state_dict())
            asks["These are the numbers of relu. Is `activation` passed on?"] = relu(x, ~mask)
        if norm is not None:
            own.norm = None
            asks["Is the norm after the layers applied?"] = own(x, mask=~mask)
            first = norm(own.layers[0](x, ~mask))
            asks["Is the norm applied once, after the last layer, or after each?"] = norm(
                own.layers[1](first, ~mask)
            )
        assert_matches(output, expected, what, axes=AXES, help=help, asks=asks)
        mine, wanted = (torch.autograd.grad(y[..., 0].sum(), x)[0] for y in (output, expected))
        help = "Is something detached?"
        assert_matches(mine, wanted, "gradient of x", axes=AXES, help=help)


def test_nothing_in_a_layer_is_shared() -> None:
    """Each of the two connections has its own norm."""
    layer: Any = EncoderLayer(d_model=6, n_heads=2, d_ff=8)
    norms = {id(sublayer.norm.weight) for sublayer in layer.sublayers}
    if len(norms) < 2:
        raise Mismatch(
            f"The 2 connections of your EncoderLayer share their norms: there "
            f"{'is only one' if len(norms) == 1 else 'are only two'}.",
            help="Does each sublayer have its own SublayerConnection?",
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
    layer: Any = EncoderLayer(6, n_heads=2, d_ff=8, dropout=0.5, norm_first=True)
    if not parts_drop_as_they_should():
        return
    x = torch.randn(2, 8, 6)
    for name in ("self_attn.out_proj.bias", "feed_forward.linear2.bias"):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        nn.init.ones_(layer.get_parameter(name))
        what = f"EncoderLayer output in training, where only `{name}` is not 0,"
        output = layer.train()(x.clone())
        added = torch.where((output - x).abs() < 1e-3, 0.0, 2.0)
        help = "Is the probability passed on, and is there one dropout after each sublayer?"
        assert_matches(output, x + added, what, axes=AXES, help=help)
        assert_matches(
            layer.eval()(x.clone()), x + 1, "EncoderLayer output in evaluation", axes=AXES
        )


def test_x_is_not_modified() -> None:
    """x is unchanged after the call, in both orders."""
    torch.manual_seed(5)
    for norm_first in (False, True):
        layer: Any = EncoderLayer(d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        encoder: Any = Encoder(1, d_model=6, n_heads=2, d_ff=8, norm_first=norm_first)
        for module in (layer, encoder):
            x = torch.randn(2, 8, 6)
            before = x.clone()
            module(x)
            assert_unchanged(x, before, "x", axes=AXES)


def test_dropout_inside_every_sublayer() -> None:
    """Dropout acts inside both sublayers.

    The values are 1, and so are the network's 8 inner features. Each is dropped or doubled before
    the sublayer averages them, so the average is a multiple of 1/4, and what the sublayer returns
    is dropped or doubled once more. So 0, 1/2, 1, 3/2 and so on is added to x; without dropout
    inside, it would be 0 or 2.
    """
    torch.manual_seed(6)
    stack: Any = Encoder(1, 6, n_heads=2, d_ff=8, dropout=0.5, norm_first=True)
    if not parts_drop_as_they_should():
        return
    layer, x = stack.layers[0].train(), torch.randn(4, 8, 6)
    for part in ("self_attn", "feed_forward"):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        if part == "self_attn":
            nn.init.ones_(layer.get_parameter("self_attn.v_proj.bias"))
            nn.init.eye_(layer.get_parameter("self_attn.out_proj.weight"))
        else:
            nn.init.ones_(layer.get_parameter("feed_forward.linear1.bias"))
            nn.init.constant_(layer.get_parameter("feed_forward.linear2.weight"), 1 / 8)
        added = layer(x.clone()) - x
        what = f"change of x by `{part}` in training"
        help = "Does `dropout`, here 0.5, reach every part that has one?"
        assert_matches(added, (2 * added).round() / 2, what, axes=AXES, help=help)
        inside = "no weight" if part != "feed_forward" else "no number between the two maps"
        inside += f" of `{part}`"
        if set(added.round(decimals=2).abs().unique().tolist()) <= {0.0, 2.0}:
            raise Mismatch(
                f"With dropout=0.5, {inside} of an Encoder's layer is dropped.",
                help="Is `dropout` passed on to every part that has one?",
                points_at="__init__",
            )


def test_dropout_on_nothing_else() -> None:
    """Dropout acts on the sublayers and on nothing else.

    Where they return zeros, training and evaluation give the same.

    So no part of x, of the sums or of what the norms return is dropped.
    """
    torch.manual_seed(7)
    x = torch.randn(2, 4, 6)
    for norm_first in (False, True):
        layer: Any = EncoderLayer(6, n_heads=2, d_ff=8, dropout=0.5, norm_first=norm_first)
        for name, parameter in layer.named_parameters():
            if "norm" not in name:
                nn.init.zeros_(parameter)
        what = f"EncoderLayer output with norm_first={norm_first}"
        help = "Does dropout act on what each sublayer returns, before the sum?"
        trained, sides = layer.train()(x.clone()), ("training", "evaluation")
        assert_matches(trained, layer.eval()(x), what, axes=AXES, help=help, sides=sides)


def test_dropout_if_none_is_given() -> None:
    """Without the argument `dropout`, it is 0.1.

    What a sublayer adds becomes 0 or 1 / 0.9."""
    torch.manual_seed(8)
    stack: Any = Encoder(1, d_model=6, n_heads=2, d_ff=8, norm_first=True)
    if not parts_drop_as_they_should():
        return
    x = torch.zeros(4, 8, 6)
    for layer in (stack.layers[0], EncoderLayer(6, n_heads=2, d_ff=8, norm_first=True)):
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        nn.init.ones_(layer.get_parameter("self_attn.out_proj.bias"))
        output = layer.train()(x)
        expected = torch.where(output.abs() < 1e-3, 0.0, 1 / 0.9)
        what = "EncoderLayer output in training, without the argument dropout,"
        assert_matches(output, expected, what, axes=AXES)


def test_a_token_that_sees_nothing() -> None:
    """A token that may attend to nothing gets finite numbers."""
    torch.manual_seed(9)
    mask = torch.tensor([[True, True], [False, False]])
    layer = EncoderLayer(d_model=6, n_heads=2, d_ff=8).eval()
    assert_finite(layer(torch.randn(2, 2, 6), mask), "EncoderLayer output", axes=AXES)


def test_the_defaults() -> None:
    """The defaults: dropout 0.1, ReLU and post-norm."""
    assert_defaults(EncoderLayer, dropout=0.1, activation="relu", norm_first=False)
    assert_defaults(Encoder, dropout=0.1, activation="relu", norm_first=False)
