"""Public tests of feed_forward. Run them with: pytest exercises/test_feed_forward.py."""

from typing import Any

import torch
from torch import Tensor, nn

from exercises.feed_forward import FeedForward
from grader.feedback.comparison import assert_matches, assert_parameters, assert_raises

AXES = ("batch", "length", "d_model")


def by_hand(activation: str, dropout: float = 0.0) -> tuple[Any, Tensor]:
    """A network of 1 feature, with 2 inside, and the sentence (1, -2)."""
    module: Any = FeedForward(1, 2, dropout, activation)
    module.linear1.weight = nn.Parameter(torch.tensor([[3.0], [1.0]]))
    module.linear1.bias = nn.Parameter(torch.tensor([4.0, 0.0]))
    module.linear2.weight = nn.Parameter(torch.tensor([[10.0, 1.0]]))
    module.linear2.bias = nn.Parameter(torch.tensor([-5.0]))
    return module, torch.tensor([[[1.0], [-2.0]]])


def test_relu_by_hand() -> None:
    """The sentence (1, -2) with relu becomes (66, -5).

    1 becomes (7, 1) inside, and 10 * 7 + 1 - 5 = 66. -2 becomes (-2, -2), cut to (0, 0).
    """
    module, x = by_hand("relu")
    expected = torch.tensor([[[66.0], [-5.0]]])
    assert_matches(module.eval()(x), expected, "FeedForward output", axes=AXES)


def test_gelu_by_hand() -> None:
    """The sentence (1, -2) with gelu becomes (65.84, -5.50).

    gelu(x) is x times the share of the normal distribution below x: gelu(7) is 7, gelu(1) is
    0.841345, gelu(-2) is -0.0455003.
    """
    module, x = by_hand("gelu")
    expected = torch.tensor([[[70 + 0.841345 - 5], [11 * -0.0455003 - 5]]])
    assert_matches(module.eval()(x), expected, "FeedForward output with gelu", axes=AXES)


def test_its_parameters() -> None:
    """linear1 widens from d_model to d_ff, linear2 goes back."""
    shapes = {
        "linear1.weight": (5, 3),
        "linear1.bias": (5,),
        "linear2.weight": (3, 5),
        "linear2.bias": (3,),
    }
    assert_parameters(FeedForward(d_model=3, d_ff=5), shapes, "FeedForward(3, 5)")


def test_each_token_for_itself() -> None:
    """A token alone becomes what it becomes in its sentence."""
    torch.manual_seed(0)
    module = FeedForward(d_model=3, d_ff=5).eval()
    x = torch.randn(2, 4, 3)
    alone = module(x[:, 2:3])
    expected = module(x)[:, 2:3]
    assert_matches(
        alone, expected, "FeedForward output", axes=AXES, sides=("alone", "in its sentence")
    )


def test_dropout_is_inside() -> None:
    """With dropout 1, training leaves nothing but the last bias.

    The bias of linear2 is -5.
    """
    module, x = by_hand("relu", dropout=1.0)
    expected = torch.tensor([[[-5.0], [-5.0]]])
    assert_matches(module.train()(x), expected, "FeedForward output in training", axes=AXES)


def test_another_activation() -> None:
    """There is no activation called "linear"."""
    with assert_raises(ValueError, 'FeedForward(3, 5, activation="linear")'):
        FeedForward(3, 5, activation="linear")
