"""Public tests of feed_forward. Run them with: pytest exercises/test_feed_forward.py."""

from typing import Any

import torch
from torch import Tensor, nn

from exercises.feed_forward import FeedForward
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_matches,
    assert_parameters,
    assert_raises,
    assert_shape,
    assert_unchanged,
)
from grader.feedback.gradients import assert_gradients

AXES = ("batch", "length", "d_model")


def by_hand(activation: str, dropout: float = 0.0) -> tuple[Any, Tensor]:
    """Return a network with d_model = 1 and d_ff = 2, and the sentence (1, -2)."""
    module: Any = FeedForward(1, 2, dropout, activation)
    module.linear1.weight = nn.Parameter(torch.tensor([[3.0], [1.0]]))
    module.linear1.bias = nn.Parameter(torch.tensor([4.0, 0.0]))
    module.linear2.weight = nn.Parameter(torch.tensor([[10.0, 1.0]]))
    module.linear2.bias = nn.Parameter(torch.tensor([-5.0]))
    return module, torch.tensor([[[1.0], [-2.0]]])


def test_relu_by_hand() -> None:
    """The sentence (1, -2) with relu becomes (66, -5).

    Inside, 1 becomes (7, 1), and 10 * 7 + 1 - 5 = 66. -2 becomes (-2, -2), which ReLU sets to 0.
    """
    module, x = by_hand("relu")
    expected = torch.tensor([[[66.0], [-5.0]]])
    assert_matches(
        module.eval()(x),
        expected,
        "FeedForward output",
        axes=AXES,
        help="linear1 returns (7, 1) and (-2, -2). What should happen to the negative numbers?",
        asks={
            "Is there an activation between the two maps?": torch.tensor([[[66.0], [-27.0]]]),
            "Is there an activation after linear2 as well?": torch.tensor([[[66.0], [0.0]]]),
            "The sum with x belongs to `sublayer`. Is x added here?": torch.tensor(
                [[[67.0], [-7.0]]]
            ),
            "These are the numbers of gelu. How does your code use `activation`?": torch.tensor(
                [[[65.841345], [-5.5005]]]
            ),
        },
    )


def test_gelu_by_hand() -> None:
    """The sentence (1, -2) with gelu becomes (65.84, -5.50).

    gelu(x) is x times the probability that a normally distributed number is below x: gelu(7) is 7,
    gelu(1) is 0.841345, gelu(-2) is -0.0455003.
    """
    module, x = by_hand("gelu")
    expected = torch.tensor([[[70 + 0.841345 - 5], [11 * -0.0455003 - 5]]])
    assert_matches(module.eval()(x), expected, "FeedForward output with gelu", axes=AXES)


def test_its_parameters() -> None:
    """linear1 maps d_model to d_ff features, linear2 maps them back."""
    shapes = {
        "linear1.weight": (5, 3),
        "linear1.bias": (5,),
        "linear2.weight": (3, 5),
        "linear2.bias": (3,),
    }
    assert_parameters(FeedForward(d_model=3, d_ff=5), shapes, "FeedForward(3, 5)")


def test_the_exact_gelu() -> None:
    """gelu is the exact GELU: gelu(1) is 0.841345.

    The tanh approximation gives 0.841192.
    """
    module: Any = FeedForward(1, 1, 0.0, "gelu").eval()
    for linear in (module.linear1, module.linear2):
        nn.init.ones_(linear.weight)
        nn.init.zeros_(linear.bias)
    output = module(torch.tensor([[[1.0], [-2.0]]]))
    expected = torch.tensor([[[0.841345], [-0.0455003]]])
    help = "Is yours the exact GELU, or an approximation?"
    assert_matches(output, expected, "FeedForward output with gelu", axes=AXES, help=help)


def test_each_token_on_its_own() -> None:
    """A token comes out the same alone and in its sentence.

    There is no sum or mean over the tokens or over the batch.
    """
    torch.manual_seed(0)
    module = FeedForward(d_model=3, d_ff=5).eval()
    x = torch.randn(2, 4, 3)
    alone = module(x[:, 2:3])
    expected = module(x)[:, 2:3]
    assert_matches(
        alone, expected, "FeedForward output", axes=AXES, sides=("alone", "in its sentence")
    )


def test_relu_if_none_is_named() -> None:
    """Without the argument `activation`, the network uses ReLU.

    The default is set in the `def` line of `__init__`.
    """
    network: Any = FeedForward(2, 3).eval()
    relu: Any = FeedForward(2, 3, activation="relu").eval()
    relu.load_state_dict(network.state_dict())
    x = torch.tensor([[[1.0, -2.0], [0.5, 3.0]]])
    sides = ("none named", "relu")
    assert_matches(network(x), relu(x), "FeedForward output", axes=AXES, sides=sides)


def test_dropout_is_inside() -> None:
    """With dropout 0.75, inner features become 0 or grow.

    What is kept is divided by 1 - 0.75.

    7 becomes 0 or 28, and 1 becomes 0 or 4, so the output is one of -5, -1, 275 and 279, and each
    of them occurs. In evaluation it is 66.
    """
    torch.manual_seed(1)
    module, _ = by_hand("relu", dropout=0.75)
    x = torch.ones(1, 256, 1)
    output = module.train()(x)
    possible = torch.tensor([-5.0, -1.0, 275.0, 279.0])
    shape = {"batch": 1, "length": 256, "d_model": 1}
    assert_shape(output, shape, "FeedForward output in training")
    expected = possible[(output - possible).abs().argmin(-1, keepdim=True)]
    help = "Is there exactly one dropout, between the activation and linear2?"
    assert_matches(output, expected, "FeedForward output in training", axes=AXES, help=help)
    if len(output.unique()) < 4:
        raise Mismatch("Dropout in FeedForward should drop each inner feature independently.")
    expected = torch.full_like(x, 66.0)
    assert_matches(module.eval()(x), expected, "FeedForward output in evaluation", axes=AXES)


def test_dropout_comes_after_the_activation() -> None:
    """What dropout keeps is gelu(-0.5) times four, not gelu(-2).

    -1.5 becomes (-0.5, -1.5) inside. gelu(-0.5) is -0.154269 and gelu(-1.5) is -0.100211. With
    dropout 0.75, each becomes 0 or four times as large, before linear2 sums them up.
    """
    torch.manual_seed(2)
    module, _ = by_hand("gelu", dropout=0.75)
    output = module.train()(torch.full((1, 256, 1), -1.5))
    shape = {"batch": 1, "length": 256, "d_model": 1}
    assert_shape(output, shape, "FeedForward output in training")
    first, second = 10 * 4 * -0.154269, 4 * -0.100211
    possible = torch.tensor([-5.0, first - 5, second - 5, first + second - 5])
    expected = possible[(output - possible).abs().argmin(-1, keepdim=True)]
    help = "Is dropout after the activation, on its way to linear2?"
    assert_matches(output, expected, "FeedForward output in training", axes=AXES, help=help)


def test_gradients() -> None:
    """Gradients flow back to x and to both maps."""
    torch.manual_seed(3)
    module, x = FeedForward(2, 3, activation="gelu").eval(), torch.randn(1, 2, 2).requires_grad_()
    given = {"x": x, **dict(module.named_parameters())}
    assert_gradients(lambda: module(x), given, "FeedForward output")


def test_x_is_not_modified() -> None:
    """x is unchanged after the call."""
    module, x = by_hand("relu")
    module(x)
    before = torch.tensor([[[1.0], [-2.0]]])
    assert_unchanged(x, before, "x", axes=AXES)


def test_an_unknown_activation() -> None:
    """An unknown activation, such as "linear", raises ValueError."""
    for activation in ("linear", "sigmoid", "elu", "ReLU", ""):
        with assert_raises(ValueError, f'FeedForward(3, 5, activation="{activation}")'):
            FeedForward(3, 5, activation=activation)


def test_the_defaults() -> None:
    """The defaults: dropout 0.1 and ReLU."""
    assert_defaults(FeedForward, dropout=0.1, activation="relu")
