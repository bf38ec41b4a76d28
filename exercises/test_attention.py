"""Public tests of attention. Run them with: pytest exercises/test_attention.py."""

from math import log, sqrt

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.attention import attention
from grader.feedback.comparison import (
    Mismatch,
    assert_finite,
    assert_matches,
    assert_parts,
    assert_shape,
    assert_unchanged,
    assert_zero,
)
from grader.feedback.gradients import assert_gradients


def test_by_hand() -> None:
    """Two queries and three keys, worked out with a pencil.

    The first query has the scores 0, 0 and 2 log 2; divided by sqrt(4) they are 0, 0 and log 2.
    Their exponentials are 1, 1 and 2, so the weights are 1/4, 1/4 and 1/2. The second query is all
    zeros, so it attends to all keys equally.
    """
    query = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    key = torch.tensor([[0.0, 1.0, 2.0, 0.0], [0.0, 3.0, 0.0, 1.0], [2 * log(2), 0.0, 0.0, 0.0]])
    value = torch.tensor([[4.0, 0.0], [0.0, 4.0], [8.0, 8.0]])
    returned = attention(query, key, value)
    assert_parts(returned, ("output", "weights"), "attention")
    output, weights = returned
    if weights.shape == (2, 2) and output.shape == (2, 3):
        raise Mismatch("attention should return the output first, then the weights.")

    def rows(first: list[float]) -> torch.Tensor:
        return torch.tensor([first, [1 / 3, 1 / 3, 1 / 3]])

    expected = torch.tensor([[1 / 4, 1 / 4, 1 / 2], [1 / 3, 1 / 3, 1 / 3]])
    help = "Print the scores. Are they 0, 0, log 2 and 0, 0, 0? And what do you do to them?"
    if torch.is_tensor(weights) and weights.shape == expected.shape and (weights > 0).all():
        score = (weights[0, 2] / weights[0, 1]).log().item()
        if torch.allclose(weights, torch.tensor([[0, 0, score], [0.0, 0.0, 0.0]]).softmax(-1)):
            times = score / log(2)
            help = f"The scores are {times:.3g} times as large as they should be: what are they "
            help += "divided by?"
    assert_matches(
        weights,
        expected,
        "attention weights",
        axes=("query", "key"),
        help=help,
        asks={
            "The scores are too large: what are they divided by?": rows([1 / 6, 1 / 6, 2 / 3]),
            "The scores are too small: do you divide by d_k, or by its square root?": rows(
                [1 / (2 + sqrt(2)), 1 / (2 + sqrt(2)), sqrt(2) / (2 + sqrt(2))]
            ),
            "The scores are too large: do you divide or multiply?": rows([1 / 18, 1 / 18, 8 / 9]),
            "The scores are too large: the root of which size divides them?": rows(
                [
                    1 / (2 + 2 ** (2 / sqrt(3))),
                    1 / (2 + 2 ** (2 / sqrt(3))),
                    1 / (1 + 2 ** (1 - 2 / sqrt(3))),
                ]
            ),
            "Each column sums to one. Over which axis does your softmax run?": torch.tensor(
                [[1 / 2, 1 / 2, 2 / 3], [1 / 2, 1 / 2, 1 / 3]]
            ),
            "These are the scores. What turns them into weights that sum to one?": torch.tensor(
                [[0.0, 0.0, log(2)], [0.0, 0.0, 0.0]]
            ),
            "All numbers together sum to one. Over which axis does your softmax run?": torch.tensor(
                [[1 / 7, 1 / 7, 2 / 7], [1 / 7, 1 / 7, 1 / 7]]
            ),
            "All weights are equal. Do the scores come from query and key?": rows([1 / 3] * 3),
        },
    )
    expected = torch.tensor([[5.0, 5.0], [4.0, 4.0]])
    help = "The weights are right. What do they multiply, and in which order?"
    assert_matches(output, expected, "attention output", axes=("query", "d_v"), help=help)


@given(n_queries=st.integers(1, 6), n_keys=st.integers(1, 6))
def test_weights_sum_to_one(n_queries: int, n_keys: int) -> None:
    """The weights of every query sum to one over the keys."""
    chance = torch.Generator().manual_seed(0)
    query = torch.randn(2, 3, n_queries, 4, generator=chance)
    key = torch.randn(2, 3, n_keys, 4, generator=chance)
    value = torch.randn(2, 3, n_keys, 5, generator=chance)
    output, weights = attention(query, key, value)
    assert_shape(output, {"batch": 2, "head": 3, "query": n_queries, "d_v": 5}, "attention output")
    shape = {"batch": 2, "head": 3, "query": n_queries, "key": n_keys}
    assert_shape(weights, shape, "attention weights")
    assert_matches(
        weights.sum(dim=-1),
        torch.ones(2, 3, n_queries),
        "attention weights, summed over the keys,",
        axes=("batch", "head", "query"),
        help="Over which axis does your softmax run?",
    )


def test_a_hidden_key_gets_no_weight() -> None:
    """A key that the mask hides gets a weight of exactly zero.

    The other weights still sum to one.
    """
    torch.manual_seed(1)
    query, key, value = torch.randn(2, 4, 6), torch.randn(2, 3, 6), torch.randn(2, 3, 5)
    query[0, 0] = 0.0  # all scores of this query are 0
    mask = torch.tensor([True, False, True])
    _, weights = attention(query, key, value, mask)
    assert_shape(weights, {"batch": 2, "query": 4, "key": 3}, "attention weights")
    without_mask = attention(query, key, value)[1]
    help = "The mask is False where a key is hidden. Does its score become the lowest of all?"
    if torch.equal(weights, without_mask):
        help = "The mask has no effect. Does your code go on with the masked scores?"
    elif weights[0, 0, 1] != 0 and not weights[..., 1].flatten()[1:].any():
        help = "All scores of the first query are 0. Does your code take 0 for hidden?"
    assert_zero(weights[..., 1], "attention weights of the hidden key", help=help)
    assert_matches(
        weights.sum(dim=-1),
        torch.ones(2, 4),
        "attention weights, summed over the keys,",
        axes=("batch", "query"),
        help="Is the mask applied before the softmax?",
    )


def test_a_query_that_sees_nothing() -> None:
    """A query that may attend to nothing gets finite numbers, not NaN."""
    torch.manual_seed(2)
    query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 5)
    mask = torch.tensor([[True, True, True], [False, False, False]])
    output, weights = attention(query, key, value, mask)
    assert_finite(output, "attention output", axes=("query", "d_v"))
    assert_finite(weights, "attention weights", axes=("query", "key"))


def test_dropout_acts_on_the_weights() -> None:
    """`dropout` acts on the weights; this one keeps the first of three.

    The query is all zeros, so the weights are 1/3 each. Only the first reaches the values, and a
    third of (3, 6, 9) is (1, 2, 3), with a mask that hides nothing too.
    """
    key = torch.randn(3, 4, generator=torch.Generator().manual_seed(3))
    value = torch.tensor([[3.0, 6.0, 9.0], [30.0, 60.0, 90.0], [9.0, 9.0, 9.0]])
    first = torch.tensor([1.0, 0.0, 0.0])
    expected = torch.tensor([[1.0, 2.0, 3.0]])
    help = "Is `dropout` called once, on the weights, before they are multiplied by the values?"
    for mask, what in ((None, "dropout"), (torch.ones(1, 3).bool(), "a mask and dropout")):
        output, _ = attention(torch.zeros(1, 4), key, value, mask, lambda weights: weights * first)
        what = f"attention output with {what}"
        assert_matches(output, expected, what, axes=("query", "d_v"), help=help)


def test_each_sentence_and_head_by_hand() -> None:
    """Two sentences and five heads of other sizes, done with a pencil.

    With 16 features the scores 4 log 2, 0 and 0 are divided by 4. The exponentials of log 2, 0 and
    0 are 2, 1 and 1, so the weights are 1/2, 1/4 and 1/4, and the values 4, 0 and 8 average to
    2 + 0 + 2 = 4.
    """
    query, key = torch.ones(2, 5, 7, 16), torch.zeros(2, 5, 3, 16)
    key[:, :, 0, 0] = 4 * log(2)
    value = torch.tensor([4.0, 0.0, 8.0]).reshape(3, 1).expand(2, 5, 3, 6)
    output, weights = attention(query, key, value)
    assert_matches(
        weights,
        torch.tensor([1 / 2, 1 / 4, 1 / 4]).expand(2, 5, 7, 3),
        "attention weights",
        axes=("batch", "head", "query", "key"),
        help="Print the number that divides the scores. Is it the root of 16, of the features?",
    )
    axes = ("batch", "head", "query", "d_v")
    assert_matches(output, torch.full((2, 5, 7, 6), 4.0), "attention output", axes=axes)


def test_the_caller_keeps_its_tensors() -> None:
    """Query, key, value and mask are not modified."""
    torch.manual_seed(4)
    query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 5)
    mask = torch.tensor([True, False, True])
    given = {"query": query, "key": key, "value": value, "mask": mask}
    before = {name: tensor.clone() for name, tensor in given.items()}
    attention(query, key, value, mask)
    for name, tensor in given.items():
        assert_unchanged(tensor, before[name], name)


def test_scores_of_a_thousand() -> None:
    """Scores as large as a thousand give no NaN, and a mask holds for them.

    The scores of the first query are 1000 and 0, so its weights are 1 and 0. Those of the second
    are 0 and 0: 1/2 and 1/2. Then both scores are -1000; with the second key hidden, all of the
    weight is on the first.
    """
    query = torch.tensor([[1000.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    key = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    _, weights = attention(query, key, torch.eye(2))
    help = "What does `exp` give for 1000? What may you subtract from each row first?"
    expected = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert_matches(weights, expected, "attention weights", axes=("query", "key"), help=help)
    mask = torch.tensor([True, False])
    _, weights = attention(-query[:1], key[:1].expand(2, 4), torch.eye(2), mask)
    help = "Is the number that replaces the score of a hidden key lower than any score?"
    expected = torch.tensor([[1.0, 0.0]])
    assert_matches(weights, expected, "attention weights", axes=("query", "key"), help=help)


def test_a_mask_for_each_head() -> None:
    """A mask with three axes has one part for each head.

    Masks broadcast from the right.

    The first head sees only the first key, the second head only the last, so that key gets all of
    the weight. A mask with axes of size 1 in front, such as a padding mask, holds for all heads.
    """
    query, key, value = torch.ones(2, 2, 1, 4), torch.ones(2, 2, 3, 4), torch.zeros(2, 2, 3, 5)
    mask = torch.tensor([[[True, False, False]], [[False, False, True]]])
    _, weights = attention(query, key, value, mask)
    axes = ("batch", "head", "query", "key")
    assert_matches(weights, mask.float().expand(2, 2, 1, 3), "attention weights", axes=axes)
    mask = torch.tensor([False, True, False]).reshape(1, 1, 1, 3)
    _, weights = attention(query, key, value, mask)
    what = "attention weights with a mask of shape (1, 1, 1, 3)"
    assert_matches(weights, mask.float().expand(2, 2, 1, 3), what, axes=axes)


def test_gradients() -> None:
    """Gradients flow back to query, key and value."""
    torch.manual_seed(5)
    query, key, value = torch.randn(2, 3), torch.randn(3, 3), torch.randn(3, 2)
    given = {"query": query, "key": key, "value": value}
    for tensor in given.values():
        tensor.requires_grad_()
    mask = torch.tensor([[True, True, True], [True, False, True]])
    assert_gradients(lambda: attention(query, key, value, mask)[0], given, "attention output")
