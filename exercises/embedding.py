# Put your code where NotImplementedError is. Then: pytest exercises/test_embedding.py
# Not to be used here: nn.Embedding, F.embedding, nn.EmbeddingBag, F.embedding_bag. Here the table
# is an nn.Parameter of your own; indexing it is fine.
"""Embeddings: from a word's number to a vector that can be learned.

A model cannot calculate with the number 17 that stands for "dog": dog is not the half of 34. So
every word of the vocabulary owns one row of a table, a vector of `d_model` numbers, and the model
looks the row up. The rows start at random and are trained like any other weight, until words that
behave alike have rows that are alike.

## Formula

    Embedding(id)            = weight[id]
    TokenEmbedding(id)       = √d_model * Embedding(id)
    TransformerEmbedding(id) = Dropout(TokenEmbedding(id) + table[pos])

The last line joins the word with its place in the sentence, and that is what enters the first
layer. You wrote the table, the sum and the dropout in the exercise "positional".

## Shapes

    ids                        (B, L)   whole numbers from 0 to num_embeddings - 1
    weight                     (num_embeddings, embedding_dim)
    result                     (B, L, embedding_dim)

## Padding

Padding is no word and should learn nothing. With `padding_idx` given, that row starts as zeros and
never gets a gradient. It is still an ordinary row: if somebody loads other numbers into it, those
numbers are returned.

## With a pencil

A vocabulary of three words, four features, so √d_model = 2. The sentence is word 2, word 1.

    >>> token = TokenEmbedding(vocab_size=3, d_model=4)
    >>> rows = [[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    >>> token.embedding.weight.data = torch.tensor(rows)
    >>> token(torch.tensor([[2, 1]])).detach()
    tensor([[[10., 12., 14., 16.],
             [ 2.,  4.,  6.,  8.]]])

A word that occurs twice in a batch gets the sum of both gradients, a word that does not occur gets
zero, and so does padding:

    >>> embedding = Embedding(4, 2, padding_idx=0)
    >>> embedding(torch.tensor([[1, 1, 3, 0]])).sum().backward()
    >>> embedding.weight.grad
    tensor([[0., 0.],
            [2., 2.],
            [0., 0.],
            [1., 1.]])

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others.
- `padding_idx` may be any row, the first one too, and reaches the `Embedding` inside. The copy that
  `copy.deepcopy` makes freezes the same row.
- Dropout acts once, on the sum, while training only. A sentence longer than `max_len` is a
  `ValueError`.
- After `.to(dtype)` the module takes and returns that dtype: float32, float64 or bfloat16. The ids
  stay int64.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.4 for the factor, 3.5 for the sum, 5.4 for dropout.
- PyTorch: `torch.nn.Embedding` is the same as our `Embedding`.

## Questions to ask your code

- A table may be indexed with a tensor of ids. What does Python, and PyTorch too, do with the index
  -1? Is that what you want from a wrong id?
- Do you multiply by the square root, or divide by it? Before or after the positions are added?
- A hook on the weight can clear the gradient of one row. Is the hook still there after
  `copy.deepcopy`? Is there a way to let no gradient arrive in the first place?
- Is your table made once, in `__init__`? And does an optimiser find it in `parameters()`?
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    """A table with one row for each word, looked up by the word's id.

    Its parameter is `weight`, `(num_embeddings, embedding_dim)`.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None
    ) -> None:
        """Draws the table from the normal distribution N(0, 1).

        To start: `torch.randn` draws, `nn.Parameter` makes a tensor trainable.

        Args:
            num_embeddings: How many words.
            embedding_dim: How many features each word has.
            padding_idx: The row that starts as zeros and never gets a gradient; None for none.
        """
        super().__init__()
        raise NotImplementedError("embedding: Embedding.__init__ is not written yet")

    def forward(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length embedding_dim"]:
        """Looks up the row of each id.

        To start: index the table with the whole tensor of ids. For padding, `detach` gives the same
        numbers without their gradient, and `torch.where` chooses between two tensors.

        Args:
            ids: Token ids, `(B, L)`.

        Returns:
            `(B, L, embedding_dim)`.

        Raises:
            IndexError: an id is negative, or not less than `num_embeddings`.
        """
        raise NotImplementedError("embedding: Embedding.forward is not written yet")


class TokenEmbedding(nn.Module):
    """An `Embedding`, called `embedding`, whose rows are made larger by `√d_model`."""

    def __init__(self, vocab_size: int, d_model: int, padding_idx: int | None = None) -> None:
        """Makes the table.

        To start: which of the arguments will `forward` need again?

        Args:
            vocab_size: How many words.
            d_model: How many features each word has.
            padding_idx: Passed on to the `Embedding`.
        """
        super().__init__()
        raise NotImplementedError("embedding: TokenEmbedding.__init__ is not written yet")

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """Looks up the rows and scales them.

        To start: `math.sqrt` takes the root of a plain number.

        Args:
            ids: Token ids, `(B, L)`.

        Returns:
            `(B, L, d_model)`.

        Raises:
            IndexError: an id is outside the vocabulary.
        """
        raise NotImplementedError("embedding: TokenEmbedding.forward is not written yet")


class TransformerEmbedding(nn.Module):
    """What enters the first layer: the words and their places.

    Its parts are `token` (a `TokenEmbedding`) and `position` (a `PositionalEncoding`).
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        dropout: float = 0.1,
        max_len: int = 5000,
        padding_idx: int | None = None,
    ) -> None:
        """Makes the two parts.

        To start: look up which arguments each part takes, and in which order.

        Args:
            vocab_size: How many words.
            d_model: How many features each word has.
            dropout: Probability of dropping a feature of the sum while training.
            max_len: The longest sentence there may be.
            padding_idx: Passed on to the `TokenEmbedding`.
        """
        super().__init__()
        raise NotImplementedError("embedding: TransformerEmbedding.__init__ is not written yet")

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """Looks up the words, adds their places, and drops some features while training.

        To start: what does each of the two parts do already? Nothing should be done twice.

        Args:
            ids: Token ids, `(B, L)`.

        Returns:
            `(B, L, d_model)`.

        Raises:
            IndexError: an id is outside the vocabulary.
            ValueError: the sentence is longer than `max_len`.
        """
        raise NotImplementedError("embedding: TransformerEmbedding.forward is not written yet")


# Made by grader stubs, ecab83bdc415
