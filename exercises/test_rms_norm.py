"""Public tests of rms_norm. Run them with: pytest exercises/test_rms_norm.py."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.rms_norm import RMSNorm
from grader.feedback.comparison import (
    assert_dtype,
    assert_matches,
    assert_parameters,
    assert_unchanged,
)

AXES = ("batch", "length", "d_model")


def test_by_hand() -> None:
    """Four features, worked out with a pencil.

    Their squares 1, 1, 9 and 25 have the mean 9, so each feature is divided by 3.
    """
    x = torch.tensor([[[1.0, -1.0, 3.0, 5.0]]])
    expected = x / 3
    assert_matches(
        RMSNorm(4)(x),
        expected,
        "RMSNorm output",
        axes=AXES,
        help="Is the mean left in x, and do you divide by the root of the mean square?",
        asks={
            "Do you divide by the mean square, or by its root?": x / 9,
            "By which number do you divide the sum of the four squares?": x / 6,
            "Do you divide by the root, or multiply by it?": x * 3,
            "Is `weight` multiplied, or added?": x / 3 + 1,
            "Is the mean of x subtracted? RMSNorm doesn't do that.": (x - 2) / 5**0.5,
            "Are the features squared before their mean is taken?": x / 2**0.5,
        },
    )


def test_eps_by_hand() -> None:
    """eps is added to the mean square.

    The mean square of 3 and -3 is 9. With eps = 7 the root of 9 + 7 is 4, and 3 / 4 is 0.75. With
    eps = 0 features of any size become 1 and -1.
    """
    x = torch.tensor([[[3.0, -3.0]]])
    expected = torch.tensor([[[0.75, -0.75]]])
    assert_matches(RMSNorm(2, eps=7.0)(x), expected, "RMSNorm output", axes=AXES)
    expected = torch.tensor([[[1.0, -1.0]]])
    found = RMSNorm(2, eps=0.0)(x / 10000)
    assert_matches(found, expected, "output of RMSNorm(2, eps=0.0)", axes=AXES)


def test_eps_if_none_is_given() -> None:
    """Without an argument, eps is 1e-6.

    Features of 0.001 have a mean square of 1e-6 as well. The root of 2e-6 is 0.001 * √2, so each
    feature becomes 1 / √2.
    """
    x = torch.full((1, 1, 5), 0.001)
    expected = torch.full((1, 1, 5), 0.5**0.5)
    assert_matches(RMSNorm(5)(x), expected, "RMSNorm output", axes=AXES)


def test_a_token_of_zeros() -> None:
    """Zeros stay zeros: nothing is divided by zero.

    0 divided by the root of eps is 0.
    """
    x = torch.zeros(1, 2, 3)
    assert_matches(RMSNorm(3)(x), x, "RMSNorm output for zeros", axes=AXES)


def test_weight() -> None:
    """Each feature has its own scale, which starts at one; there is no bias.

    (1, 7) has the mean square 25, is divided by 5 and becomes (0.2 * 10, 1.4 * 20).
    """
    norm = RMSNorm(2)
    assert_parameters(norm, {"weight": (2,)}, "RMSNorm(2)")
    assert_matches(norm.weight, torch.ones(2), "weight at the start")
    with torch.no_grad():
        norm.get_parameter("weight").copy_(torch.tensor([10.0, 20.0]))
    expected = torch.tensor([[[2.0, 28.0]]])
    assert_matches(norm(torch.tensor([[[1.0, 7.0]]])), expected, "RMSNorm output", axes=AXES)


@given(scale=st.integers(2, 9))
def test_each_token_is_on_its_own(scale: int) -> None:
    """Scaling one token does not change any output.

    Each token is divided by its own root mean square, which cancels the scale.
    """
    x = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(0))
    scaled = x.clone()
    scaled[1, 2] = x[1, 2] * scale
    norm = RMSNorm(6, eps=0.0)
    assert_matches(
        norm(scaled),
        norm(x),
        "RMSNorm output",
        axes=AXES,
        help="Over which axis do you take the mean of the squares?",
        sides=("scaled", "before"),
    )


def test_what_comes_in_stays_and_its_dtype_comes_back() -> None:
    """x is not modified, bfloat16 stays bfloat16, transposed views work."""
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    before = x.clone()
    RMSNorm(4)(x)
    assert_unchanged(x, before, "x", axes=AXES)
    half = RMSNorm(4).to(torch.bfloat16)(x.to(torch.bfloat16))
    assert_dtype(half, torch.bfloat16, "RMSNorm output for bfloat16")
    expected = RMSNorm(4)(x).transpose(0, 1)
    assert_matches(RMSNorm(4)(x.transpose(0, 1)), expected, "RMSNorm output for a transposed view")


def test_it_learns() -> None:
    """Gradients reach weight and x, through the divisor too.

    Scaling all of x does not change the output, so x and its gradient are orthogonal.
    """
    x = torch.tensor([[[1.0, -1.0, 3.0, 5.0]]], requires_grad=True)
    norm = RMSNorm(4, eps=0.0)
    (norm(x) * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert_matches(
        norm.weight.grad,
        torch.tensor([1.0, -2.0, 9.0, 20.0]) / 3,
        "gradient of weight",
        help="Is weight used, and is nothing on the way detached?",
    )
    assert x.grad is not None, "No gradient reaches x."
    assert_matches(
        (x.grad * x.detach()).sum(),
        torch.tensor(0.0),
        "dot product of x and its gradient",
        atol=1e-5,
        help="Is the root mean square cut out of the graph (detach, no_grad, item)?",
    )
