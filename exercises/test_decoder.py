"""Public tests of decoder. Run them with: pytest exercises/test_decoder.py."""

from typing import Any

import torch

from exercises.decoder import Decoder, DecoderLayer
from grader.feedback.comparison import assert_matches

AXES = ("batch", "target", "d_model")


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
