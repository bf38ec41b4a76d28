"""Public tests of layer_norm. Run them with: pytest exercises/test_layer_norm.py."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from exercises.layer_norm import LayerNorm
from grader.feedback.comparison import assert_matches, assert_parameters

AXES = ("batch", "length", "d_model")


def test_by_hand() -> None:
    """Eight features, worked out with a pencil.

    Their mean is 5 and their variance 4, so each becomes (x - 5) / 2.
    """
    x = torch.tensor([[[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]]])
    expected = torch.tensor([[[-1.5, -0.5, -0.5, -0.5, 0.0, 0.0, 1.0, 2.0]]])
    assert_matches(LayerNorm(8)(x), expected, "LayerNorm output", axes=AXES)


def test_eps_by_hand() -> None:
    """eps is added to the variance.

    The variance of -3 and 3 is 9. With eps = 7 the root of 9 + 7 is 4, and 3 / 4 is 0.75.
    """
    x = torch.tensor([[[-3.0, 3.0]]])
    expected = torch.tensor([[[-0.75, 0.75]]])
    assert_matches(LayerNorm(2, eps=7.0)(x), expected, "LayerNorm output", axes=AXES)


def test_weight_and_bias() -> None:
    """Each feature has its own scale and its own shift.

    (4, 6) is normalised to (-1, 1), and this becomes (-1 * 2 + 10, 1 * 3 + 20).
    """
    norm = LayerNorm(2)
    assert_parameters(norm, {"weight": (2,), "bias": (2,)}, "LayerNorm(2)")
    norm.weight = nn.Parameter(torch.tensor([2.0, 3.0]))
    norm.bias = nn.Parameter(torch.tensor([10.0, 20.0]))
    expected = torch.tensor([[[8.0, 23.0]]])
    assert_matches(norm(torch.tensor([[[4.0, 6.0]]])), expected, "LayerNorm output", axes=AXES)


@given(shift=st.integers(-5, 5), scale=st.integers(1, 9))
def test_shift_and_scale_are_taken_out(shift: int, scale: int) -> None:
    """Moving or stretching one token changes nothing.

    Each token has its own mean and variance, and both are taken out.
    """
    x = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(0))
    moved = x.clone()
    moved[1, 2] = x[1, 2] * scale + shift
    norm = LayerNorm(6, eps=0.0)
    assert_matches(
        norm(moved),
        norm(x),
        "LayerNorm output",
        axes=AXES,
        help="Over which axes do you take the mean and the variance?",
        sides=("moved", "before"),
    )
