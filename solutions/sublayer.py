"""The sublayer connection: add each sublayer's result to its input, and normalise.

A layer of the Transformer has two or three **sublayers**: attention, perhaps a second attention,
and a feed-forward network. Each is wrapped in the same connection, and without that connection a
stack of six or more layers would hardly train.

The connection adds the sublayer's input to its output. This sum is the **residual connection**. The
sublayer only has to learn what to change. And gradients flow back through the sum unchanged, past
the sublayer as well as through it, so the first layer still learns when many follow.

A layer norm before or after the sum keeps the numbers in range. Two orders are in use. The paper
normalises after the sum (**post-norm**). Most of today's models normalise the sublayer's input
instead (**pre-norm**, `norm_first=True`): then the residual path from the first layer to the last
contains nothing but sums, and deep models are easier to train.

## Formula

    post-norm:   y = LayerNorm(x + Dropout(sublayer(x)))

    pre-norm:    y = x + Dropout(sublayer(LayerNorm(x)))

## Shapes

    x                          (B, L, d_model)
    sublayer(...)              (B, L, d_model)
    y                          (B, L, d_model)

`sublayer` is any function that takes a tensor and returns one of the same shape: a module, or a
`lambda`.

## With a pencil

One token, and a sublayer that doubles its input. In post-norm the sum is 3, 3, 9, 9, with mean 6
and variance 9, so the result is -1, -1, 1, 1. In pre-norm the sublayer receives -1, -1, 1, 1 and
returns -2, -2, 2, 2, which is added to `x`.

    >>> import torch
    >>> x = torch.tensor([[[1.0, 1.0, 3.0, 3.0]]])
    >>> post = SublayerConnection(4, dropout=0.0)
    >>> post(x, lambda y: 2 * y).detach()
    tensor([[[-1.0000, -1.0000,  1.0000,  1.0000]]])
    >>> pre = SublayerConnection(4, dropout=0.0, norm_first=True)
    >>> pre(x, lambda y: 2 * y).detach()
    tensor([[[-1.0000, -1.0000,  5.0000,  5.0000]]])

## What the exercise asks

- The only parameters are those of `norm`; the sublayer belongs to the caller.
- Dropout acts on what the sublayer returns, on each number independently, and only while training.
- The values are right for a small x, a large one, and one around 1000: use the norm you have
  written, or watch your own for accuracy.
- Neither x nor what the sublayer returns is modified; a sublayer may return x itself.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3.1 for the residual sum and the norm, 5.4 ("Residual
  Dropout") for the dropout. "On Layer Normalization in the Transformer Architecture" by Xiong and
  others (2020) compares the two orders.
- PyTorch: the argument `norm_first` of `torch.nn.TransformerEncoderLayer`.
- A picture of it: exercises/pictures/sublayer.svg.

## Questions to ask your code

- In pre-norm, do you add `x`, or the normalised `x`?
- If the sublayer returns zeros, what should come out in each of the two orders?
- What exactly is dropped: the sublayer's result, the sum, or the norm's result?
- Does `+=` modify the caller's `x`?
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from solutions.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    """Wrap a sublayer in residual sum, dropout and norm.

    Part: `norm`, a `LayerNorm`.
    """

    def __init__(self, d_model: int, dropout: float = 0.1, norm_first: bool = False) -> None:
        """Create the norm.

        To start: `forward` will need three things. Which ones?

        Args:
            d_model: Number of features of a token.
            dropout: Probability of dropping a feature of the sublayer's result, during training.
            norm_first: Whether to normalise before the sublayer instead of after the sum.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first
        ### END SOLUTION

    def forward(
        self, x: Float[Tensor, "batch length d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the sublayer and add its result to `x`.

        To start: write the two formulas above, one for each order.

        Args:
            x: `(B, L, d_model)`.
            sublayer: Takes and returns `(B, L, d_model)`.

        Returns:
            `(B, L, d_model)`, a new tensor; `x` itself is not modified.
        """
        ### BEGIN SOLUTION
        # Why this way: `x += …` would write into the caller's tensor.
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
        ### END SOLUTION
