"""Public tests of sublayer. Run them with: pytest exercises/test_sublayer.py."""

import torch

from exercises.sublayer import SublayerConnection
from grader.feedback.comparison import Mismatch, assert_matches, assert_parameters

AXES = ("batch", "length", "d_model")
X = torch.tensor([[[1.0, 3.0]]])


def test_norm_after_the_sum_by_hand() -> None:
    """Sum, then norm, worked out with a pencil.

    (0, 0, 4, 4) and the sublayer's (2, 6, 2, 6) make (2, 6, 6, 10), with mean 6 and variance 8. So
    the norm is (-4, 0, 0, 4), divided by the root of 8.
    """
    connection = SublayerConnection(4).eval()
    found = torch.tensor([[[2.0, 6.0, 2.0, 6.0]]])
    output = connection(torch.tensor([[[0.0, 0.0, 4.0, 4.0]]]), lambda _: found)
    expected = torch.tensor([[[-4.0, 0.0, 0.0, 4.0]]]) / 8**0.5
    assert_matches(output, expected, "SublayerConnection output", axes=AXES)


def test_norm_first_by_hand() -> None:
    """Norm first, worked out with a pencil.

    The norm of (1, 3) is (-1, 1), the sublayer makes (-10, 10), and the sum is (-9, 13).
    """
    connection = SublayerConnection(2, norm_first=True).eval()
    output = connection(X, lambda x: 10 * x)
    expected = torch.tensor([[[-9.0, 13.0]]])
    assert_matches(output, expected, "SublayerConnection output with norm_first=True", axes=AXES)


def test_the_residual_gets_through() -> None:
    """A sublayer that gives zeros leaves x as it is in pre-norm."""
    connection = SublayerConnection(2, norm_first=True).eval()
    output = connection(X, torch.zeros_like)
    assert_matches(output, X, "SublayerConnection output with norm_first=True", axes=AXES)


def test_dropout_is_on_the_sublayer() -> None:
    """With dropout 0.5, what the sublayer gives becomes 0 or doubles.

    It gives 10 everywhere, so 0 or 20 is added to x. In evaluation it is 10.
    """
    torch.manual_seed(0)
    connection = SublayerConnection(2, dropout=0.5, norm_first=True)
    x = X.expand(4, 16, 2).clone()
    found = torch.full_like(x, 10.0)
    output = connection.train()(x, lambda _: found.clone())
    added = torch.where((output - x).abs() < 1e-3, 0.0, 20.0)
    what = "SublayerConnection output in training"
    help = "Does dropout act on what the sublayer gives, once, and not on x?"
    assert_matches(output, x + added, what, axes=AXES, help=help)
    if (added == added[0, 0, 0]).all():
        raise Mismatch("With dropout 0.5, single numbers of what the sublayer gives are dropped.")
    output = connection.eval()(x, lambda _: found.clone())
    assert_matches(output, x + 10, "SublayerConnection output in evaluation", axes=AXES)


def test_the_caller_keeps_its_tensor() -> None:
    """x is after the call what it was, in both orders."""
    for norm_first in (False, True):
        x = X.clone()
        SublayerConnection(2, norm_first=norm_first)(x, torch.ones_like)
        assert_matches(x, X, "x after the call", axes=AXES, sides=("after", "before"))


def test_its_parameters() -> None:
    """The parameters are those of its norm."""
    shapes = {"norm.weight": (2,), "norm.bias": (2,)}
    assert_parameters(SublayerConnection(2), shapes, "SublayerConnection(2)")


def test_dropout_before_the_sum_in_post_norm() -> None:
    """In post-norm, dropout acts before the sum and the norm.

    The sublayer gives 6 in the first feature and 0 in the second; x is (0, 4). With dropout 0.5
    the sum is (0, 4) or (12, 4), whose norm is (-1, 1) or (1, -1), never anything else.
    """
    torch.manual_seed(0)
    connection = SublayerConnection(2, dropout=0.5)
    x = torch.tensor([0.0, 4.0]).repeat(1, 40, 1)
    found = torch.tensor([6.0, 0.0]).repeat(1, 40, 1)
    output = connection.train()(x, lambda _: found.clone())
    expected = torch.where(output[..., :1] > 0, torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 1]))
    what = "SublayerConnection output in training"
    help = "Does dropout act on what the sublayer gives, before the sum?"
    assert_matches(output, expected, what, axes=AXES, help=help)
    if (output[0, :, 0] > 0).all() or not (output[0, :, 0] > 0).any():
        raise Mismatch("With dropout 0.5, nothing or all of what the sublayer gives is dropped.")


def test_gradients_reach_x() -> None:
    """x has a road past the sublayer.

    Gradients come back to it even if the sublayer gives zeros.
    """
    x = X.clone().requires_grad_()
    connection = SublayerConnection(2, norm_first=True)
    connection(x, torch.zeros_like).sum().backward()
    assert_matches(x.grad, torch.ones_like(X), "gradient of x", axes=AXES)
