# Put your code where NotImplementedError is. Then: pytest exercises/test_embedding.py
"""Embeddings: turn a token's id into a vector that can be learned.

An id is only a label. If "dog" is 17, the word with id 34 is not "twice a dog", so the model must
not compute with ids.

Instead, every token of the vocabulary owns one row of a table, a vector of `d_model` numbers, its
**embedding**, and the model looks the row up. The rows start at random and are trained like any
other weight, until tokens that are used alike have similar rows.

Padding is not a word and should learn nothing. With `padding_idx` given, that row starts as zeros
and never receives a gradient. It is still an ordinary row: if somebody loads other numbers into it,
those numbers are returned.

## Formula

    Embedding(id)            = weight[id]
    TokenEmbedding(id)       = √d_model * Embedding(id)
    TransformerEmbedding(id) = Dropout(TokenEmbedding(id) + table[pos])

The last line adds a token and its position in the sentence. The sum enters the first layer. You
wrote the table, the sum and the dropout in the exercise `positional`.

Why √d_model? The paper gives no reason. The usual one: positions are numbers between -1 and 1, and
the factor keeps the tokens from being lost among them. In the paper the table is also the matrix of
the last layer, whose numbers have to be small, about 1/√d_model in size; the factor brings them
back to about 1.

## Shapes

    ids                        (B, L)   integers from 0 to num_embeddings - 1
    weight                     (num_embeddings, embedding_dim)
    result                     (B, L, embedding_dim)

## With a pencil

A vocabulary of three tokens, four features, so √d_model = 2. The sentence is token 2, token 1.

    >>> token = TokenEmbedding(vocab_size=3, d_model=4)
    >>> rows = [[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    >>> token.embedding.weight.data = torch.tensor(rows)
    >>> token(torch.tensor([[2, 1]])).detach()
    tensor([[[10., 12., 14., 16.],
             [ 2.,  4.,  6.,  8.]]])

A token that occurs twice in a batch receives the sum of both gradients; one that doesn't occur
receives zero, and so does padding:

    >>> embedding = Embedding(4, 2, padding_idx=0)
    >>> embedding(torch.tensor([[1, 1, 3, 0]])).sum().backward()
    >>> embedding.weight.grad
    tensor([[0., 0.],
            [2., 2.],
            [0., 0.],
            [1., 1.]])

## What the exercise asks

- Three modules, `Embedding`, `TokenEmbedding` and `TransformerEmbedding`, each made from the one
  before.
- The rows of `Embedding` start as standard normal numbers, N(0, 1). The row stored is the row
  returned.
- `padding_idx` may be any row, including row 0, or None. TransformerEmbedding and TokenEmbedding
  pass it on. A copy made by `copy.deepcopy` freezes the same row.
- An id outside the table raises `IndexError`, and negative ids are outside it.
- Dropout acts once, on the sum, in training mode only. A sentence longer than `max_len` raises
  `ValueError`.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`nn.Embedding`, `F.embedding`, `nn.EmbeddingBag` and `F.embedding_bag`. Make the table an
`nn.Parameter` of your own; indexing it is fine.

## Where to read

- Paper, "Attention Is All You Need": section 3.4 for the factor, 3.5 for the sum, 5.4 for dropout.
- PyTorch: `torch.nn.Embedding` is the same as our `Embedding`.
- A picture of it: exercises/pictures/embedding.svg. What your model has learned:
  capstone/embedding.png, after `grader capstone`.

## Questions to ask your code

- You can index a table with a tensor of ids. What do Python and PyTorch do with the index -1? Is
  that what you want for a wrong id?
- Do you multiply by the square root, or divide by it? Before or after the positions are added?
- A hook on the weight can clear the gradient of one row. Does the hook survive `copy.deepcopy`? Is
  there a way to let no gradient arrive in the first place?
- Is your table created once, in `__init__`? And does an optimiser find it in `parameters()`?
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from exercises.positional import PositionalEncoding


class Embedding(nn.Module):
    """A table with one row per token, looked up by the token's id.

    Its parameter is `weight`, `(num_embeddings, embedding_dim)`.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None
    ) -> None:
        """Draw the table from the normal distribution N(0, 1).

        To start: `torch.randn` draws, `nn.Parameter` makes a tensor trainable.

        Args:
            num_embeddings: How many tokens.
            embedding_dim: How many features each token has.
            padding_idx: The row that starts as zeros and never receives a gradient, or None.
        """
        super().__init__()
        raise NotImplementedError("embedding: Embedding.__init__ is not written yet")

    def forward(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length embedding_dim"]:
        """Look up the row of each id.

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
    """An `Embedding`, called `embedding`, whose rows are multiplied by `√d_model`."""

    def __init__(self, vocab_size: int, d_model: int, padding_idx: int | None = None) -> None:
        """Create the table.

        To start: which of the arguments will `forward` need again?

        Args:
            vocab_size: How many tokens.
            d_model: How many features each token has.
            padding_idx: Passed on to the `Embedding`.
        """
        super().__init__()
        raise NotImplementedError("embedding: TokenEmbedding.__init__ is not written yet")

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """Look up the rows and scale them.

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
    """Tokens plus their positions, the input of the first layer.

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
        """Create the two parts.

        To start: look up which arguments each part takes, and in which order.

        Args:
            vocab_size: How many tokens.
            d_model: How many features each token has.
            dropout: Probability of dropping a feature of the sum in training mode.
            max_len: Length of the longest sentence allowed.
            padding_idx: Passed on to the `TokenEmbedding`.
        """
        super().__init__()
        raise NotImplementedError("embedding: TransformerEmbedding.__init__ is not written yet")

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """Look up the tokens, add their positions, and apply dropout in training mode.

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


# Made by grader stubs, 18dabc73136b
