"""Public tests of layer_norm. Run them with: pytest exercises/test_layer_norm.py."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.layer_norm import LayerNorm
from grader.feedback.comparison import (
    assert_dtype,
    assert_matches,
    assert_parameters,
    assert_unchanged,
)
from grader.feedback.gradients import assert_gradients

AXES = ("batch", "length", "d_model")


def test_by_hand() -> None:
    """Eight features, worked out with a pencil.

    Their mean is 5 and their variance 4, so each becomes (x - 5) / 2.
    """
    x = torch.tensor([[[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]]])
    expected = torch.tensor([[[-1.5, -0.5, -0.5, -0.5, 0.0, 0.0, 1.0, 2.0]]])
    norm = LayerNorm(8)
    starts = {"weight": torch.ones(8), "bias": torch.zeros(8)}
    for name, start in starts.items():
        parameter = getattr(norm, name, start)
        assert_matches(parameter, start, f"`{name}` of a new LayerNorm(8)", axes=("d_model",))
    assert_matches(
        norm(x),
        expected,
        "LayerNorm output",
        axes=AXES,
        help="Print the mean and the variance of the token. Are they 5 and 4? And then x - mean.",
        asks={
            "Is the variance the mean of 8 squares, or their sum divided by 7?": (x - 5)
            / (32 / 7) ** 0.5,
            "Do you divide by the variance, or by its root?": (x - 5) / 4,
            "Do you divide by the root of the variance, or multiply by it?": (x - 5) * 2,
            "Is the mean subtracted?": x / 2,
            "Have the mean and the variance changed places?": (x - 4) / 5**0.5,
            "Which of the two parameters multiplies, and which is added?": torch.ones_like(x),
            "Is the whole difference divided, or only the mean? Check the brackets.": x - 5 / 2,
            "The mean is subtracted. What is missing?": x - 5,
            "Over which axis do you take mean and variance? The features are the last axis.": 0 * x,
            "Do you subtract the mean from each feature, or the other way round?": (5 - x) / 2,
        },
    )


def test_eps_by_hand() -> None:
    """eps is added to the variance, under the root.

    The variance of -3 and 3 is 9. With eps = 7 the root of 9 + 7 is 4, and 3 / 4 is 0.75. With
    eps = 0 features of any size become -1 and 1.
    """
    x = torch.tensor([[[-3.0, 3.0]]])
    expected = torch.tensor([[[-0.75, 0.75]]])
    assert_matches(
        LayerNorm(2, eps=7.0)(x),
        expected,
        "LayerNorm output",
        axes=AXES,
        help="What is under the root?",
        asks={
            "Is eps added before the root is taken, or after?": x / 10,
            "Is the argument eps used?": x / 3,
            "Is eps itself added, or its square?": x / (9 + 49) ** 0.5,
        },
    )
    found = LayerNorm(2, eps=0.0)(x / 10000)
    assert_matches(found, x / 3, "output of LayerNorm(2, eps=0.0)", axes=AXES)


def test_eps_if_none_is_given() -> None:
    """Without the argument `eps`, it is 1e-5.

    The variance of -0.001 and 0.001 is 1e-6. Plus eps, that is 1.1e-5, whose root is 0.0033166,
    and 0.001 / 0.0033166 is 0.30151.
    """
    x = torch.tensor([[[-0.001, 0.001]]])
    expected = torch.tensor([[[-0.001, 0.001]]]) / (1e-6 + 1e-5) ** 0.5
    help = "Which eps does your `__init__` take by default?"
    assert_matches(LayerNorm(2)(x), expected, "LayerNorm output", axes=AXES, help=help)


def test_weight_and_bias() -> None:
    """Each feature has its own scale and its own shift.

    (4, 6) is normalised to (-1, 1), which becomes (-1 * 2 + 10, 1 * 3 + 20).
    """
    norm = LayerNorm(2)
    assert_parameters(norm, {"weight": (2,), "bias": (2,)}, "LayerNorm(2)")
    with torch.no_grad():
        norm.get_parameter("weight").copy_(torch.tensor([2.0, 3.0]))
        norm.get_parameter("bias").copy_(torch.tensor([10.0, 20.0]))
    expected = torch.tensor([[[8.0, 23.0]]])
    assert_matches(
        norm(torch.tensor([[[4.0, 6.0]]])),
        expected,
        "LayerNorm output",
        axes=AXES,
        help="The normalised token times `weight`, plus `bias`.",
        asks={
            "Are `weight` and `bias` used?": torch.tensor([[[-1.0, 1.0]]]),
            "Is `bias` used?": torch.tensor([[[-2.0, 3.0]]]),
            "Is `weight` used?": torch.tensor([[[9.0, 21.0]]]),
            "Which comes first, the scale or the shift?": torch.tensor([[[18.0, 63.0]]]),
        },
    )


@given(shift=st.integers(-5, 5), scale=st.integers(1, 9))
def test_shift_and_scale_are_normalised_away(shift: int, scale: int) -> None:
    """Shifting or scaling a whole token does not change the result.

    Each token has its own mean and variance, and both are normalised away.
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
        sides=("shifted and scaled", "before"),
    )


def test_equal_features() -> None:
    """Features that are all equal become 0, and so does a single one.

    Each equals the mean, and 0 divided by the root of eps is 0.
    """
    for x in ([7.0, 7.0, 7.0], [7.0]):
        found, expected = LayerNorm(len(x))(torch.tensor([[x]])), torch.zeros(1, 1, len(x))
        assert_matches(found, expected, f"LayerNorm output of {x}", axes=AXES, atol=1e-3)


def test_numbers_around_a_thousand() -> None:
    """1000 and 1000.125 become -1 and 1, apart from eps.

    Their mean is 1000.0625 and their variance 0.0625 squared, 0.00390625. float32 has too few
    digits for 1000.125 squared, 1000250.015625.
    """
    x = torch.tensor([[[1000.0, 1000.125]]])
    expected = torch.tensor([[[-0.0625, 0.0625]]]) / (0.00390625 + 1e-5) ** 0.5
    help = "The variance is the mean of squared distances. Do you square the numbers themselves?"
    assert_matches(LayerNorm(2)(x), expected, "LayerNorm output", axes=AXES, help=help)


def test_gradients() -> None:
    """Gradients flow back to weight, bias and x.

    They flow to x through the mean and the variance as well."""
    torch.manual_seed(1)
    norm, x = LayerNorm(4), torch.randn(1, 2, 4).requires_grad_()
    assert_gradients(lambda: norm(x), {"x": x, **dict(norm.named_parameters())}, "LayerNorm output")


def test_the_caller_keeps_its_x() -> None:
    """x is unchanged after the call."""
    x = torch.tensor([[[2.0, 4.0, 9.0]]])
    LayerNorm(3)(x)
    before = torch.tensor([[[2.0, 4.0, 9.0]]])
    assert_unchanged(x, before, "x", axes=AXES)


def test_the_dtype_comes_back() -> None:
    """float64 gives float64, and bfloat16 gives bfloat16."""
    for dtype in (torch.float64, torch.bfloat16):
        output = LayerNorm(3).to(dtype)(torch.ones(1, 2, 3, dtype=dtype))
        assert_dtype(output, dtype, "LayerNorm output")
