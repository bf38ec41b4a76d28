"""Public tests of linear. Run them with: pytest exercises/test_linear.py."""

from typing import Any

import torch
from torch import nn

from exercises.linear import Linear
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_matches,
    assert_parameters,
    assert_unchanged,
)

AXES = ("batch", "length", "feature")


def by_hand(bias: bool = True) -> Any:
    """Three features become two: twice the first, and the sum of the others."""
    linear: Any = Linear(3, 2, bias)
    shapes = {"weight": (2, 3), "bias": (2,)} if bias else {"weight": (2, 3)}
    assert_parameters(linear, shapes, f"Linear(3, 2, bias={bias})")
    linear.weight = nn.Parameter(torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    if bias:
        linear.bias = nn.Parameter(torch.tensor([100.0, 200.0]))
    return linear


def test_by_hand() -> None:
    """Row o of `weight` produces output o.

    (1, 2, 3) becomes 2 * 1 + 100 = 102 and 2 + 3 + 200 = 205.
    """
    x = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    expected = torch.tensor([[[102.0, 205.0], [108.0, 211.0]]])
    asks = {"Is the bias added?": expected - torch.tensor([100.0, 200.0])}
    assert_matches(by_hand()(x), expected, "Linear output", axes=AXES, asks=asks)


def test_without_a_bias() -> None:
    """With bias=False nothing is added, and the attribute `bias` is None.

    (1, 2, 3) becomes 2 * 1 = 2 and 2 + 3 = 5.
    """
    linear = by_hand(bias=False)
    expected = torch.tensor([[[2.0, 5.0]]])
    output = linear(torch.tensor([[[1.0, 2.0, 3.0]]]))
    assert_matches(output, expected, "Linear output without a bias", axes=AXES)
    if linear.bias is not None:
        raise Mismatch("With bias=False, the attribute `bias` should be None.", points_at="def")


def test_its_parameters() -> None:
    """The weight has one row per output, the bias one number per output."""
    assert_parameters(Linear(4, 3), {"weight": (3, 4), "bias": (3,)}, "Linear(4, 3)")


def test_how_it_starts() -> None:
    """With 25 inputs, weight and bias start between -0.2 and 0.2.

    1/√25 is 0.2. Of 400 or more numbers drawn uniformly, the largest is practically always above
    0.17.
    """
    linear: Any = Linear(25, 400)
    for name, value in (("weight", linear.weight), ("bias", linear.bias)):
        low, high = value.min().item(), value.max().item()
        help = "Between which bounds are the numbers drawn, and what is 1/√25?"
        if 0.048 < high < 0.0501:
            help = "The largest is close to 1/√400. What is 400 in this layer, and what is 25?"
        if not (-0.2001 < low < -0.17 and 0.17 < high < 0.2001):
            raise Mismatch(
                f"The `{name}` of Linear(25, 400) starts between {low:.3f} and {high:.3f}; "
                "it should start between -0.2 and 0.2 and come close to both.",
                help=help,
                points_at="__init__",
            )


def test_any_number_of_axes() -> None:
    """A single token gives the same result as it does in a batch.

    The features are the last axis, however many axes come before it.
    """
    linear = by_hand()
    x = torch.arange(24.0).reshape(2, 4, 3)
    output = linear(x)
    assert_matches(linear(x[1, 2]), output[1, 2], "Linear output for one token")
    assert_matches(linear(x[None]), output[None], "Linear output for four axes")


def test_any_layout_and_dtype() -> None:
    """A transposed view and bfloat16 work, and x is not modified.

    How the numbers lie in memory makes no difference to the output.
    """
    linear = by_hand()
    x = torch.arange(24.0).reshape(2, 3, 4).transpose(1, 2)
    output = linear(x)
    assert_matches(output, linear(x.contiguous()), "Linear output for a transposed view", axes=AXES)
    assert_unchanged(x, torch.arange(24.0).reshape(2, 3, 4).transpose(1, 2), "x")
    assert_dtype(linear.bfloat16()(x.bfloat16()), torch.bfloat16, "Linear output for bfloat16")


def test_it_learns() -> None:
    """Gradients reach weight and bias, and no two layers start alike.

    If a weight of the first feature grows by 1, the sum of all outputs grows by 1 + 4 = 5.
    """
    linear = by_hand()
    linear(torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])).sum().backward()
    expected = torch.tensor([[5.0, 7.0, 9.0], [5.0, 7.0, 9.0]])
    assert_matches(linear.weight.grad, expected, "gradient of `weight`", axes=("out", "in"))
    assert_matches(linear.bias.grad, torch.full((2,), 2.0), "gradient of `bias`")
    first: Any = Linear(3, 4)
    second: Any = Linear(3, 4)
    if torch.equal(first.weight, second.weight):
        raise Mismatch(
            "Two new Linear(3, 4) have the same weights.", help="Does your code set a seed?"
        )
