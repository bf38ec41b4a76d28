"""Public tests of encoder. Run them with: pytest exercises/test_encoder.py."""

from typing import Any

import torch

from exercises.encoder import Encoder, EncoderLayer
from grader.feedback.comparison import assert_matches

AXES = ("batch", "length", "d_model")


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


def test_the_layers_share_nothing() -> None:
    """Three layers have three times the parameters of one."""
    one = len(list(Encoder(1, d_model=6, n_heads=2, d_ff=8).parameters()))
    three = len(list(Encoder(3, d_model=6, n_heads=2, d_ff=8).parameters()))
    assert three == 3 * one, (
        f"One layer of your Encoder has {one} parameter tensors, three have {three}. "
        "Are your layers different objects, kept in an nn.ModuleList?"
    )
