"""Public tests of sublayer. Run them with: pytest exercises/test_sublayer.py."""

import torch

from exercises.sublayer import SublayerConnection
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_matches,
    assert_parameters,
    assert_unchanged,
)

AXES = ("batch", "length", "d_model")
X = torch.tensor([[[1.0, 3.0]]])


def test_norm_after_the_sum_by_hand() -> None:
    """Post-norm: sum, then norm, worked out with a pencil.

    (0, 0, 4, 4) and the sublayer's (2, 6, 2, 6) sum to (2, 6, 6, 10), with mean 6 and variance 8.
    So the norm returns (-4, 0, 0, 4), divided by the root of 8.
    """
    connection = SublayerConnection(4).eval()
    found = torch.tensor([[[2.0, 6.0, 2.0, 6.0]]])
    output = connection(torch.tensor([[[0.0, 0.0, 4.0, 4.0]]]), lambda _: found)
    expected = torch.tensor([[[-4.0, 0.0, 0.0, 4.0]]]) / 8**0.5
    assert_matches(
        output,
        expected,
        "SublayerConnection output",
        axes=AXES,
        help="First x plus what the sublayer returns, then the norm of that sum.",
        asks={
            "Is x added to what the sublayer returns?": torch.tensor([[[-1.0, 1.0, -1.0, 1.0]]]),
            "Is the sum normalised? And does norm_first=False mean post-norm?": torch.tensor(
                [[[2.0, 6.0, 6.0, 10.0]]]
            ),
            "Is x normalised, or the sum?": torch.tensor([[[1.0, 5.0, 3.0, 7.0]]]),
            "Does the norm come before the sum, or after it?": torch.tensor(
                [[[-1.0, 1.0, 3.0, 5.0]]]
            ),
            "Where does the sublayer's result go?": torch.tensor([[[-1.0, -1.0, 1.0, 1.0]]]),
        },
    )


def test_norm_first_by_hand() -> None:
    """Pre-norm: norm first, worked out with a pencil.

    The norm of (1, 3) is (-1, 1), the sublayer returns (-10, 10), and the sum is (-9, 13).
    """
    connection = SublayerConnection(2, norm_first=True).eval()
    output = connection(X, lambda x: 10 * x)
    expected = torch.tensor([[[-9.0, 13.0]]])
    assert_matches(
        output,
        expected,
        "SublayerConnection output with norm_first=True",
        axes=AXES,
        help="The sublayer gets the norm of x. What is its result added to?",
        asks={
            "Is `norm_first` used? In pre-norm nothing is normalised after the sum.": torch.tensor(
                [[[-1.0, 1.0]]]
            ),
            "Which x is added: the one that came in, or the normalised one?": torch.tensor(
                [[[-11.0, 11.0]]]
            ),
            "What does the sublayer get: x, or its norm?": torch.tensor([[[11.0, 33.0]]]),
            "Is x added to what the sublayer returns?": torch.tensor([[[-10.0, 10.0]]]),
            "Is what the sublayer returns normalised before it is added?": torch.tensor(
                [[[0.0, 4.0]]]
            ),
        },
    )


def test_the_sublayer_gets_x_in_post_norm() -> None:
    """In post-norm the sublayer gets x as it is: (1, 3), not its norm.

    The norm comes after the sum, and only there.
    """
    received = []

    def sublayer(y: torch.Tensor) -> torch.Tensor:
        received.append(y.clone())
        return y

    SublayerConnection(2).eval()(X, sublayer)
    help = "Is anything done to x before the sublayer gets it?"
    assert_matches(received[0], X, "input of the sublayer in post-norm", axes=AXES, help=help)


def test_the_residual_gets_through() -> None:
    """In pre-norm, a sublayer that returns zeros leaves x unchanged.

    x + 0 is x, and nothing is normalised after the sum.
    """
    connection = SublayerConnection(2, norm_first=True).eval()
    output = connection(X, torch.zeros_like)
    assert_matches(output, X, "SublayerConnection output with norm_first=True", axes=AXES)


def test_dropout_is_on_the_sublayer() -> None:
    """With dropout 0.75, a sublayer's result becomes 0 or grows.

    What is kept is divided by 1 - 0.75.

    It returns 10 everywhere, so 0 or 40 is added to x. In evaluation 10 is added.
    """
    torch.manual_seed(0)
    connection = SublayerConnection(2, dropout=0.75, norm_first=True)
    x = X.expand(4, 16, 2).clone()
    found = torch.full_like(x, 10.0)
    output = connection.train()(x.clone(), lambda _: found.clone())
    added = torch.where((output - x).abs() < 1e-3, 0.0, 40.0)
    what = "SublayerConnection output in training with norm_first=True"
    help = "Does dropout act once, on what the sublayer returns, and not on x?"
    asks = {"Nothing is dropped here. What does your line for pre-norm add to x?": x + 10}
    assert_matches(output, x + added, what, axes=AXES, help=help, asks=asks)
    for axis, name in enumerate(AXES):
        if torch.equal(added, added.roll(1, axis)):
            raise Mismatch(
                f"Dropout drops the same numbers at every index of {name}.",
                help="Does it decide about each number independently, or about several at once?",
            )
    output = connection.eval()(x.clone(), lambda _: found.clone())
    assert_matches(output, x + 10, "SublayerConnection output in evaluation", axes=AXES)


def test_nothing_is_modified() -> None:
    """x is unchanged after the call, and so is what the sublayer returned.

    That holds in both orders and in training mode, where dropout acts.
    """
    found = torch.full((1, 16, 2), 6.0)
    for norm_first in (False, True):
        connection = SublayerConnection(2, dropout=0.5, norm_first=norm_first)
        for mode in (True, False):
            x, kept = X.expand(1, 16, 2).clone(), found.clone()
            connection.train(mode)(x, lambda _, kept=kept: kept)
            assert_unchanged(x, X.expand(1, 16, 2), "x", axes=AXES)
            assert_unchanged(kept, found, "what the sublayer returned", axes=AXES)


def test_its_parameters() -> None:
    """The parameters are those of the norm, and no others."""
    shapes = {"norm.weight": (2,), "norm.bias": (2,)}
    assert_parameters(SublayerConnection(2), shapes, "SublayerConnection(2)")


def test_dropout_before_the_sum_in_post_norm() -> None:
    """In post-norm, dropout acts before the sum and the norm.

    The sublayer returns 6 in the first feature and 0 in the second; x is (0, 4). With dropout 0.5
    the sum is (0, 4) or (12, 4), whose norm is (-1, 1) or (1, -1), never anything else.
    """
    torch.manual_seed(0)
    connection = SublayerConnection(2, dropout=0.5)
    x = torch.tensor([0.0, 4.0]).repeat(1, 400, 1)
    found = torch.tensor([6.0, 0.0]).repeat(1, 400, 1)
    output = connection.train()(x.clone(), lambda _: found.clone())
    expected = torch.where(output[..., :1] > 0, torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 1]))
    what = "SublayerConnection output in training"
    help = "Does dropout act on what the sublayer returns, before the sum?"
    assert_matches(output, expected, what, axes=AXES, help=help)
    share = (output[0, :, 0] < 0).float().mean().item()
    if not 0.4 < share < 0.6:
        raise Mismatch(
            f"With dropout 0.5, about half of what the sublayer returns should be dropped, not "
            f"{share:.0%} of it.",
            help="How often does dropout act before the sum?",
        )


def test_gradients_reach_x() -> None:
    """Gradients flow back to x along the residual path.

    They do so even if the sublayer returns zeros.
    """
    x = X.clone().requires_grad_()
    connection = SublayerConnection(2, norm_first=True)
    connection(x, torch.zeros_like).sum().backward()
    assert_matches(x.grad, torch.ones_like(X), "gradient of x", axes=AXES)


def test_the_norm_is_the_layers_own() -> None:
    """The norm's weight and bias are used, in both orders.

    The norm of (1, 3) is (-1, 1). With the weight 2 and the bias 5 it is (3, 7).
    """
    for norm_first, expected in ((False, [[[3.0, 7.0]]]), (True, [[[4.0, 10.0]]])):
        connection = SublayerConnection(2, norm_first=norm_first).eval()
        with torch.no_grad():
            connection.get_parameter("norm.weight").fill_(2.0)
            connection.get_parameter("norm.bias").fill_(5.0)
        what = f"SublayerConnection output with norm_first={norm_first}"
        output = connection(X, (lambda x: x) if norm_first else torch.zeros_like)
        assert_matches(output, torch.tensor(expected), what, axes=AXES)


def test_small_and_large_numbers() -> None:
    """Small numbers and numbers around 1000 are normalised.

    The norm's eps is 1e-5.

    The variance of -0.001 and 0.001 is 1e-6, and 0.001 over the root of 1.1e-5 is 0.30151. 1000 and
    1000.125 become nearly -1 and 1.
    """
    for x, variance in (([-0.001, 0.001], 1e-6), ([1000.0, 1000.125], 0.00390625)):
        size = (variance / (variance + 1e-5)) ** 0.5
        output = SublayerConnection(2).eval()(torch.tensor([[x]]), torch.zeros_like)
        expected = torch.tensor([[[-size, size]]])
        assert_matches(output, expected, f"SublayerConnection output for x = {x}", axes=AXES)


def test_a_sublayer_may_return_what_it_was_given() -> None:
    """A sublayer may return x itself; neither it nor its result is modified.

    In post-norm x + x is (2, 6), whose norm is (-1, 1).
    """
    for norm_first, expected in ((False, [[[-1.0, 1.0]]]), (True, [[[0.0, 4.0]]])):
        x, results = X.clone(), list[torch.Tensor]()
        output = SublayerConnection(2, norm_first=norm_first).eval()(
            x, lambda given, results=results: results.extend([given, given.clone()]) or given
        )
        what = f"SublayerConnection output with norm_first={norm_first}"
        assert_matches(output, torch.tensor(expected), what, axes=AXES)
        times = f"{len(results) // 2} times"
        assert len(results) == 2, f"With norm_first={norm_first} the sublayer is called {times}."
        returned, before = results
        assert_unchanged(returned, before, "what the sublayer returns", axes=AXES)


def test_the_defaults() -> None:
    """The defaults: dropout 0.1 and post-norm."""
    assert_defaults(SublayerConnection, dropout=0.1, norm_first=False)
