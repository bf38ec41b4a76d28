"""Public tests of softmax. Run them with: pytest exercises/test_softmax.py."""

from math import inf, log

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.softmax import cross_entropy, log_softmax, softmax
from grader.feedback.comparison import (
    assert_dtype,
    assert_finite,
    assert_matches,
    assert_unchanged,
    assert_zero,
)


def test_softmax_by_hand() -> None:
    """Four scores whose exponentials are 1, 2, 2 and 5, with the sum 10.

    So the probabilities are 1/10, 2/10, 2/10 and 5/10.
    """
    x = torch.tensor([1.0, 2.0, 2.0, 5.0]).log()
    expected = torch.tensor([0.1, 0.2, 0.2, 0.5])
    asks = {
        "These are the exponentials. What are they divided by?": 10 * expected,
        "These are exponentials of differences. What are they divided by?": 2 * expected,
        "These are the logarithms. What does softmax return?": expected.log(),
        "Are these the exponentials, divided by their sum?": x / x.sum(),
        "An exponential is never negative. Is the largest score subtracted from the score, or from "
        "its exponential?": (10 * expected - log(5)) / (10 - 4 * log(5)),
    }
    assert_matches(softmax(x), expected, "softmax", asks=asks)


def test_log_softmax_by_hand() -> None:
    """The probabilities 0.1, 0.2, 0.2 and 0.5 have these natural logarithms."""
    x = torch.tensor([1.0, 2.0, 2.0, 5.0]).log()
    expected = torch.tensor([-2.302585, -1.609438, -1.609438, -0.693147])
    largest, logarithm_of_sum = log(5), log(2)  # of the shifted scores, whose exponentials sum to 2
    assert_matches(
        log_softmax(x),
        expected,
        "log_softmax",
        help="The logarithm of a quotient is a difference. Are all three terms there?",
        asks={
            "Is it the natural logarithm?": expected / log(2),
            "Is the largest score subtracted in both places?": x - logarithm_of_sum,
            "These are the probabilities. Where is the logarithm?": expected.exp(),
            "Is the logarithm of the sum subtracted, or added?": x - largest + logarithm_of_sum,
            "Do you subtract the logarithm of the sum, or divide by it?": (x - largest)
            / logarithm_of_sum,
            "Do you subtract the sum's logarithm, or the sum itself?": x - largest - 2,
        },
    )


@given(dim=st.integers(-3, 2))
def test_probabilities_sum_to_one(dim: int) -> None:
    """Along `dim`, whichever axis it is, the probabilities sum to one."""
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    ones = torch.ones_like(x.sum(dim))
    help = "Is the sum taken along `dim`, and the maximum too?"
    assert_matches(softmax(x, dim).sum(dim), ones, f"sum of softmax along axis {dim}", help=help)
    probabilities = log_softmax(x, dim=dim).exp()
    assert_matches(
        probabilities.sum(dim), ones, f"sum of exp(log_softmax) along axis {dim}", help=help
    )


def test_columns_by_hand() -> None:
    """With dim=0 each column has its own softmax.

    The exponentials in the columns are in the ratios 1 : 3, 4 : 4 and 3 : 9.
    """
    x = torch.tensor([[1.0, 4.0, 3.0], [3.0, 4.0, 9.0]]).log()
    expected = torch.tensor([[0.25, 0.5, 0.25], [0.75, 0.5, 0.75]])
    help = "Along which axis is the maximum taken, and along which the sum?"
    assert_matches(softmax(x, dim=0), expected, "softmax with dim=0", help=help)
    assert_matches(log_softmax(x, dim=0), expected.log(), "log_softmax with dim=0", help=help)


def test_without_dim_it_is_the_last_axis() -> None:
    """Without `dim`, the rows of a (2, 3) tensor sum to one.

    What is the default of `dim` in your `def` line, and does every sum use it?
    """
    x = torch.randn(2, 3, generator=torch.Generator().manual_seed(1))
    assert_matches(softmax(x).sum(-1), torch.ones(2), "sum of softmax over the last axis")
    sums = log_softmax(x).exp().sum(-1)
    assert_matches(sums, torch.ones(2), "sum of exp(log_softmax) over the last axis")


def test_large_scores() -> None:
    """Scores around 1000 and around -1000 give the right probabilities.

    Both rows have the probabilities 1/4 and 3/4.
    """
    x = torch.tensor([[1.0, 3.0], [1.0, 3.0]]).log() + torch.tensor([[1000.0], [-1000.0]])
    help = "Is each row's own largest score subtracted before exp?"
    expected = torch.tensor([[0.25, 0.75], [0.25, 0.75]])
    assert_matches(softmax(x), expected, "softmax", rtol=1e-3, help=help)
    assert_matches(log_softmax(x), expected.log(), "log_softmax", rtol=1e-3, help=help)


def test_logarithms_of_tiny_probabilities() -> None:
    """A probability may round to zero; its logarithm is still -1000."""
    x = torch.tensor([0.0, 1000.0], requires_grad=True)
    output = log_softmax(x)
    assert_matches(
        output,
        torch.tensor([-1000.0, 0.0]),
        "log_softmax",
        help="Does your code take the logarithm of zero anywhere?",
    )
    (gradient,) = torch.autograd.grad(output.sum(), x)
    assert_finite(gradient, "gradient of log_softmax")


def test_a_score_of_minus_infinity() -> None:
    """A score of -inf gets a probability of exactly zero.

    exp(-inf) is 0. The two other scores are equal, so each has the probability 1/2.
    """
    probabilities = softmax(torch.tensor([0.0, -inf, 0.0]))
    assert_zero(probabilities[1], "probability of a score of -inf")
    assert_matches(probabilities, torch.tensor([0.5, 0.0, 0.5]), "softmax")


def test_cross_entropy_by_hand() -> None:
    """Labels with probabilities 1/2, 1/8 and 1/4: the mean of their losses."""
    logits = torch.tensor([[4.0, 1.0, 3.0], [4.0, 1.0, 3.0], [1.0, 5.0, 2.0]]).log()
    labels = torch.tensor([0, 1, 2])
    assert_matches(
        cross_entropy(logits, labels),
        torch.tensor(2 * log(2)),
        "cross_entropy",
        help="Each row gives one number, the one at its label. Which numbers enter your mean?",
        asks={
            "Is the sign right? The logarithm of a probability is negative.": torch.tensor(
                -2 * log(2)
            ),
            "Is it the mean of the rows, or their sum?": torch.tensor(6 * log(2)),
            "Is the mean taken over the rows alone?": torch.tensor(2 * log(2) / 3),
            "Where is the logarithm?": torch.tensor(-7 / 24),
            "Is it the natural logarithm?": torch.tensor(2.0),
        },
    )


def test_cross_entropy_of_a_batch_of_sequences() -> None:
    """Logits (2, 3, 4) with labels (2, 3): the mean over all six."""
    logits = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(3))
    labels = torch.tensor([[0, 1, 2], [3, 0, 1]])
    one_by_one = [
        cross_entropy(logits[row, place, None], labels[row, place, None])
        for row in range(2)
        for place in range(3)
    ]
    assert_matches(
        cross_entropy(logits, labels),
        sum(one_by_one, torch.tensor(0.0)) / 6,
        "cross_entropy of a batch",
        help="Does each label pick from the row at the same position?",
    )


def test_cross_entropy_where_others_are_impossible() -> None:
    """Other logits may be -inf, and the label's 1000 below the largest."""
    logits = torch.tensor([[0.0, -inf, 0.0], [1000.0, 0.0, -inf]], requires_grad=True)
    loss = cross_entropy(logits, torch.tensor([2, 1]))
    expected = torch.tensor((log(2) + 1000) / 2)
    assert_matches(loss, expected, "cross_entropy", help="Is zero multiplied by infinity anywhere?")
    (gradient,) = torch.autograd.grad(loss, logits)
    assert_finite(gradient, "gradient of cross_entropy")


def test_what_comes_in_stays_and_its_dtype_comes_back() -> None:
    """x is not modified, and bfloat16 gives bfloat16."""
    x = torch.randn(2, 3, generator=torch.Generator().manual_seed(2))
    for function in (softmax, log_softmax):
        before = x.clone()
        function(x)
        name = function.__name__
        assert_unchanged(x, before, "x")
        assert_dtype(function(x.to(torch.bfloat16)), torch.bfloat16, f"{name} for bfloat16")
    labels = torch.tensor([2, 0])
    logits_before, labels_before = x.clone(), labels.clone()
    cross_entropy(x, labels)
    assert_unchanged(x, logits_before, "logits")
    assert_unchanged(labels, labels_before, "labels")


def test_gradients() -> None:
    """Gradients for the scores log 3 and 0, worked out with a pencil.

    The first probability is 3/4. It grows by 3/4 * 1/4 for its own score and shrinks by as much for
    the other. Its logarithm changes by 1/4 and -1/4.
    """
    for function, slope in ((softmax, 3 / 16), (log_softmax, 1 / 4)):
        x = torch.tensor([3.0, 1.0]).log().requires_grad_()
        (gradient,) = torch.autograd.grad(function(x)[0], x)
        what = f"gradient of the first number of {function.__name__}"
        assert_matches(gradient, torch.tensor([slope, -slope]), what)
