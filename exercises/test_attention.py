"""Public tests of attention. Run them with: pytest exercises/test_attention.py."""

from math import log

import torch
from hypothesis import given
from hypothesis import strategies as st

from exercises.attention import attention
from grader.feedback.comparison import (
    assert_finite,
    assert_matches,
    assert_parts,
    assert_shape,
    assert_zero,
)


def test_by_hand() -> None:
    """Two queries and three keys, worked out with a pencil.

    The first query has the scores 0, 0 and 2 log 2, divided by sqrt(4) they are 0, 0 and log 2.
    exp makes 1, 1 and 2 of them, so the weights are 1/4, 1/4 and 1/2. The second query has only
    zeros, so it looks at all keys alike.
    """
    query = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    key = torch.tensor([[0.0, 1.0, 2.0, 0.0], [0.0, 3.0, 0.0, 1.0], [2 * log(2), 0.0, 0.0, 0.0]])
    value = torch.tensor([[4.0, 0.0], [0.0, 4.0], [8.0, 8.0]])
    returned = attention(query, key, value)
    assert_parts(returned, ("output", "weights"), "attention")
    output, weights = returned
    expected = torch.tensor([[1 / 4, 1 / 4, 1 / 2], [1 / 3, 1 / 3, 1 / 3]])
    assert_matches(
        weights,
        expected,
        "attention weights",
        axes=("query", "key"),
        help="What are the scores divided by? Do output and weights come back in this order?",
    )
    expected = torch.tensor([[5.0, 5.0], [4.0, 4.0]])
    assert_matches(output, expected, "attention output", axes=("query", "d_v"))


@given(n_queries=st.integers(1, 6), n_keys=st.integers(1, 6))
def test_weights_sum_to_one(n_queries: int, n_keys: int) -> None:
    """The weights of every query sum to one, over the keys."""
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
    """A key that the mask hides gets exactly no weight.

    The others still sum to one.
    """
    torch.manual_seed(1)
    query, key, value = torch.randn(2, 4, 6), torch.randn(2, 3, 6), torch.randn(2, 3, 5)
    mask = torch.tensor([True, False, True])
    _, weights = attention(query, key, value, mask)
    assert_shape(weights, {"batch": 2, "query": 4, "key": 3}, "attention weights")
    assert_zero(
        weights[..., 1],
        "attention weights of the hidden key",
        help="The mask is False where a key is hidden. Is the result of hiding it used?",
    )
    assert_matches(
        weights.sum(dim=-1),
        torch.ones(2, 4),
        "attention weights, summed over the keys,",
        axes=("batch", "query"),
        help="Does the mask come before the softmax?",
    )


def test_a_query_that_sees_nothing() -> None:
    """A query that may look at no key gets finite numbers, not NaN."""
    torch.manual_seed(2)
    query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 5)
    mask = torch.tensor([[True, True, True], [False, False, False]])
    output, weights = attention(query, key, value, mask)
    assert_finite(output, "attention output", axes=("query", "d_v"))
    assert_finite(weights, "attention weights", axes=("query", "key"))


def test_dropout_acts_on_the_weights() -> None:
    """A "dropout" that halves the weights halves the output."""
    torch.manual_seed(3)
    query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 5)
    whole, _ = attention(query, key, value)
    halved, _ = attention(query, key, value, dropout=lambda weights: weights / 2)
    assert_matches(halved, whole / 2, "attention output with dropout", axes=("query", "d_v"))


def test_each_sentence_and_head_by_hand() -> None:
    """Two sentences of five heads with a pencil; all sizes differ.

    With 16 features the scores 4 log 2, 0 and 0 are divided by 4. exp makes 2, 1 and 1 of log 2, 0
    and 0, so the weights are 1/2, 1/4 and 1/4, and the values 4, 0 and 8 make 2 + 0 + 2 = 4.
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
        help="d_k is how many features a query has. On which axis are they, whatever stands ahead?",
    )
    axes = ("batch", "head", "query", "d_v")
    assert_matches(output, torch.full((2, 5, 7, 6), 4.0), "attention output", axes=axes)


def test_the_caller_keeps_its_tensors() -> None:
    """Query, key, value and mask are after the call what they were."""
    torch.manual_seed(4)
    query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 5)
    mask = torch.tensor([True, False, True])
    given = {"query": query, "key": key, "value": value, "mask": mask}
    before = {name: tensor.clone() for name, tensor in given.items()}
    attention(query, key, value, mask)
    for name, tensor in given.items():
        assert_matches(tensor, before[name], f"{name} after the call", sides=("after", "before"))
