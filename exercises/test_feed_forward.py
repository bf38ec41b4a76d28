"""Public tests of feed_forward. Run them with: pytest exercises/test_feed_forward.py."""

from typing import Any

import torch
from torch import Tensor, nn

from exercises.feed_forward import FeedForward
from grader.feedback.comparison import (
    Mismatch,
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_shape,
)

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
    """With dropout 0.5, 7 inside becomes 0 or 14, and 1 becomes 0 or 2.

    So the output is one of -5, -3, 135 and 137, each now and then. In evaluation it is 66.
    """
    torch.manual_seed(1)
    module, _ = by_hand("relu", dropout=0.5)
    x = torch.ones(1, 64, 1)
    output = module.train()(x)
    possible = torch.tensor([-5.0, -3.0, 135.0, 137.0])
    assert_shape(output, {"batch": 1, "length": 64, "d_model": 1}, "FeedForward output in training")
    expected = possible[(output - possible).abs().argmin(-1, keepdim=True)]
    help = "Is dropout there, once, between the activation and linear2?"
    assert_matches(output, expected, "FeedForward output in training", axes=AXES, help=help)
    if len(output.unique()) < 4:
        raise Mismatch("Dropout 0.5 in FeedForward should drop each number inside by itself.")
    expected = torch.full_like(x, 66.0)
    assert_matches(module.eval()(x), expected, "FeedForward output in evaluation", axes=AXES)


def test_the_exact_gelu() -> None:
    """gelu(1) is 0.841345, by the normal distribution.

    The approximation with tanh makes 0.841192 of it.
    """
    module: Any = FeedForward(1, 1, 0.0, "gelu").eval()
    for linear in (module.linear1, module.linear2):
        nn.init.ones_(linear.weight)
        nn.init.zeros_(linear.bias)
    output = module(torch.tensor([[[1.0], [-2.0]]]))
    expected = torch.tensor([[[0.841345], [-0.0455003]]])
    help = "Is it the exact GELU, not an approximation?"
    assert_matches(output, expected, "FeedForward output with gelu", axes=AXES, help=help)


def test_the_caller_keeps_its_tensor() -> None:
    """x is after the call what it was."""
    module, x = by_hand("relu")
    module(x)
    before = torch.tensor([[[1.0], [-2.0]]])
    assert_matches(x, before, "x after the call", axes=AXES, sides=("after", "before"))


def test_another_activation() -> None:
    """There is no activation called "linear"."""
    with assert_raises(ValueError, 'FeedForward(3, 5, activation="linear")'):
        FeedForward(3, 5, activation="linear")
