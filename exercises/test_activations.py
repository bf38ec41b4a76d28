"""Public tests of activations. Run them with: pytest exercises/test_activations.py."""

from functools import partial
from math import log

import torch
from torch import Tensor

from exercises.activations import gelu, relu, tanh
from grader.feedback.comparison import (
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_raises,
    assert_unchanged,
)

AXES = ("row", "number")


def test_relu_by_hand() -> None:
    """Negative numbers become zero, all others stay the same.

    Only the sign matters: 0.5 stays 0.5, and 300 stays 300.
    """
    x = torch.tensor([[-2.0, -0.5, 0.0], [0.5, 1.0, 300.0]])
    expected = torch.tensor([[0.0, 0.0, 0.0], [0.5, 1.0, 300.0]])
    assert_matches(relu(x), expected, "relu", axes=AXES)


def test_tanh_by_hand() -> None:
    """tanh(ln 2) is 0.6 and tanh(ln 3) is 0.8.

    e to the power of ln 2 is 2, so it is (2 - 1/2) / (2 + 1/2).
    """
    x = torch.tensor([[log(2), log(3), 0.0], [-log(2), -log(3), 0.0]])
    expected = torch.tensor([[0.6, 0.8, 0.0], [-0.6, -0.8, 0.0]])
    assert_matches(tanh(x), expected, "tanh", axes=AXES)


def test_gelu_by_hand() -> None:
    """gelu(x) is x times the share of the normal distribution below x.

    That share is 0.13499 % for -3, 15.86553 % for -1 and 84.13447 % for 1.
    """
    x = torch.tensor([[-3.0, -1.0, 0.0, 1.0]])
    expected = torch.tensor([[-3 * 0.00134990, -0.1586553, 0.0, 0.8413447]])
    help = "Divide your numbers by x: is that the share below x? If not, what does your erf get?"
    asks = {
        "This is the share below x. What is it multiplied by?": torch.tensor(
            [[0.0013499, 0.1586553, 0.5, 0.8413447]]
        ),
        'These are the numbers of approximate="tanh". Which form is the default?': torch.tensor(
            [[-0.00363739, -0.1588080, 0.0, 0.8411920]]
        ),
    }
    assert_matches(gelu(x), expected, "gelu", axes=AXES, help=help, asks=asks)


def test_the_other_form_of_gelu() -> None:
    """With approximate="tanh" gelu(-3) is -0.00364, not -0.00405.

    √(2/π) * (-3 - 0.044715 * 27) is -3.35704, and its tanh is -0.9975751.
    """
    x = torch.tensor([[-3.0, -1.0, 0.0, 1.0]])
    expected = torch.tensor([[-0.00363739, -0.1588080, 0.0, 0.8411920]])
    output = gelu(x, approximate="tanh")
    help = (
        "Print what goes into your tanh for -3, and what comes out. Are they the two numbers in "
        "this test's docstring?"
    )
    asks = {
        "These are the numbers of the exact form. Where is `approximate` used?": torch.tensor(
            [[-0.00404970, -0.1586553, 0.0, 0.8413447]]
        )
    }
    what = 'gelu with approximate="tanh"'
    assert_matches(output, expected, what, axes=AXES, help=help, asks=asks)
    for name in ("sigmoid", "Tanh", ""):
        with assert_raises(ValueError, f'gelu with approximate="{name}"'):
            gelu(x, approximate=name)


def test_far_away_numbers() -> None:
    """Numbers as large as 1e30 give right results and finite gradients.

    tanh is -1 or 1 there (tanh(3) is only 0.995); relu and gelu are 0 on the left and x on the
    right.
    """
    for size in (100.0, 1e30):
        x = torch.tensor([[-size, size]])
        ends = torch.tensor([[-1.0, 1.0]])
        assert_matches(tanh(x), ends, f"tanh of ±{size:g}", axes=AXES)
        cut = torch.tensor([[0.0, size]])
        for name, function in (
            ("relu", relu),
            ("gelu", gelu),
            ('gelu with approximate="tanh"', partial(gelu, approximate="tanh")),
        ):
            help = (
                f"It should be 0 for -{size:g}, and {size:g} itself for {size:g}. If your code "
                "limits x on the way, does the last product still take x as it came in?"
            )
            assert_matches(function(x), cut, f"{name} of ±{size:g}", axes=AXES, help=help)
    x = torch.tensor([[-100.0, 100.0]], requires_grad=True)
    for name, output in (
        ("tanh", tanh(x)),
        ("gelu", gelu(x)),
        ('gelu with approximate="tanh"', gelu(x, approximate="tanh")),
    ):
        what = f"gradient of {name} at ±100"
        help = "Infinity times 0 is NaN in a gradient, even in the branch that `where` skips."
        assert_finite(gradient(output, x), what, axes=AXES, help=help)


def gradient(output: Tensor, x: Tensor) -> Tensor:
    """Return the slope of a function at each number of x."""
    return torch.autograd.grad(output.sum(), x)[0]


def test_what_is_given_stays_and_its_dtype_comes_back() -> None:
    """No function modifies its x, and bfloat16 comes back as bfloat16."""
    for name, function in (
        ("relu", relu),
        ("tanh", tanh),
        ("gelu", gelu),
        ('gelu with approximate="tanh"', partial(gelu, approximate="tanh")),
    ):
        x = torch.tensor([[-2.0, 1.0], [3.0, -4.0]])
        before = x.clone()
        function(x)
        assert_unchanged(x, before, "x", axes=AXES)
        assert_dtype(function(x.bfloat16()), torch.bfloat16, f"{name} of bfloat16")


def test_the_slope_of_relu() -> None:
    """Gradients flow through relu: 1 above zero, 0 below.

    Above zero relu returns x itself, whose slope is 1; below it returns 0, whose slope is 0.
    """
    x = torch.tensor([[-2.0, 3.0]], requires_grad=True)
    slopes = gradient(relu(x), x)
    assert_matches(slopes, torch.tensor([[0.0, 1.0]]), "gradient of relu", axes=AXES)
