"""Public tests of embedding. Run them with: pytest exercises/test_embedding.py."""

from typing import Any

import torch
from torch import nn

from exercises.embedding import Embedding, TokenEmbedding, TransformerEmbedding
from exercises.positional import sinusoidal_table
from grader.feedback.comparison import assert_matches, assert_parameters, assert_raises, assert_zero

AXES = ("batch", "length", "d_model")
TABLE = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_each_id_gets_its_row() -> None:
    """The id 2 gets row 2 of `weight`, the id 0 row 0, and so on."""
    embedding = Embedding(num_embeddings=3, embedding_dim=2)
    assert_parameters(embedding, {"weight": (3, 2)}, "Embedding(3, 2)")
    embedding.weight = nn.Parameter(TABLE.clone())
    expected = torch.tensor([[[5.0, 6.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]])
    assert_matches(embedding(torch.tensor([[2, 0, 0, 1]])), expected, "Embedding output", axes=AXES)


def test_the_padding_row_does_not_learn() -> None:
    """The padding row is zero and gets no gradient.

    The other rows get one.
    """
    embedding: Any = Embedding(num_embeddings=5, embedding_dim=3, padding_idx=1)
    assert_zero(embedding.weight[1], "Embedding's padding row")
    embedding(torch.tensor([[0, 1, 4, 4]])).sum().backward()
    expected = torch.zeros(5, 3)
    expected[0], expected[4] = 1.0, 2.0
    axes = ("row", "feature")
    assert_matches(embedding.weight.grad, expected, "gradient of Embedding's weight", axes=axes)


def test_an_id_outside_the_table() -> None:
    """With three rows the ids 3 and -1 are errors."""
    embedding = Embedding(num_embeddings=3, embedding_dim=2)
    with assert_raises(IndexError, "Embedding(3, 2) with the id 3"):
        embedding(torch.tensor([[0, 3]]))
    with assert_raises(IndexError, "Embedding(3, 2) with the id -1"):
        embedding(torch.tensor([[0, -1]]))


def test_rows_are_scaled() -> None:
    """With four features, each row is made larger by sqrt(4) = 2."""
    module: Any = TokenEmbedding(vocab_size=3, d_model=4)
    module.embedding.weight = nn.Parameter(torch.arange(12.0).reshape(3, 4))
    expected = torch.tensor([[[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]])
    output = module(torch.tensor([[2, 0]]))
    assert_matches(output, expected, "TokenEmbedding output", axes=AXES)


def test_the_words_and_their_places() -> None:
    """A token is its scaled row plus the wave of its place."""
    torch.manual_seed(0)
    module: Any = TransformerEmbedding(vocab_size=7, d_model=6).eval()
    ids = torch.tensor([[3, 1, 4], [1, 5, 6]])
    expected = module.token(ids) + sinusoidal_table(3, 6)
    assert_matches(module(ids), expected, "TransformerEmbedding output", axes=AXES)
