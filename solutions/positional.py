"""Sinusoidal positions: tell tokens apart by their position.

Attention doesn't know about order: shuffle the words, and every word still gathers the same things.
But "dog bites man" is not "man bites dog".

So a pattern that says "I am token number 7" is added to each token before the first layer, the
**positional encoding**. The paper uses sine and cosine waves of many lengths: the first columns
oscillate quickly, the last ones very slowly, like the second, minute and hour hands of a clock.

Why waves? Moving one position on rotates each pair of columns by an angle, 1 / base^(2i / d_model):
large in the first pair, small in the last, but the same wherever you start. So "three tokens back"
is the same rotation everywhere in the sentence, and a linear map can learn it. The paper also tried
*learned* positions, a table trained like that of the words, and found nearly the same results; but
a learned table has no rows for sentences longer than those it was trained on.

## Formula

    table[pos, 2i]     = sin(pos / base^(2i / d_model))
    table[pos, 2i + 1] = cos(pos / base^(2i / d_model))

`pos` counts the tokens from 0, `i` counts the *pairs* of columns from 0, and `base` is 10000. Both
columns of a pair share one angle. With an odd `d_model` the last column is a sine without a cosine.

    PositionalEncoding(x) = Dropout(x + table[:L])

## Shapes

    sinusoidal_table           (max_len, d_model)
    x                          (B, L, d_model)
    x plus the first L rows    (B, L, d_model)

The table is a constant. It must follow the module to another device or dtype, but an optimiser must
not change it. PyTorch calls such a tensor a **buffer**.

## With a pencil

Three positions, four columns, and `base = 100`, so that the numbers are easy. The first pair has
the exponent 0, and 100^0 = 1: its angles are 0, 1, 2. The second pair has the exponent 2 / 4, and
100^(1/2) = 10: its angles are 0, 0.1, 0.2.

    >>> sinusoidal_table(3, 4, base=100.0)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0998,  0.9950],
            [ 0.9093, -0.4161,  0.1987,  0.9801]])

## What the exercise asks

- A function `sinusoidal_table`, in float32, and a module `PositionalEncoding` without parameters.
- Any base, any width (even or odd) and any number of rows, including a single one: use the
  arguments.
- The table is the buffer `pe`: `.to(...)` moves and converts it. After `.to(torch.bfloat16)`,
  tokens in bfloat16 give a result in bfloat16.
- Dropout acts on the sum, in training mode only.
- A sentence of exactly `max_len` tokens is fine; a longer one raises `ValueError`.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3.5; the dropout is in section 5.4.
- PyTorch has no such layer. For the constant, see `torch.nn.Module.register_buffer`.
- A picture of it: exercises/pictures/positional.svg.

## Questions to ask your code

- If your index already jumps by two, is it `i` or `2i`?
- Which exponent does a cosine column have: that of its own column, or that of its partner?
- Along which axis of `x` do the positions run? Would you notice a mistake if `B` were equal to `L`?
- Does `PositionalEncoding(4).double()` still work? And `.to("meta")`?
- Is `x` unchanged after the call? A `+=` modifies the caller's tensor.
- What happens with a sentence longer than the table?
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def sinusoidal_table(
    max_len: int, d_model: int, base: float = 10000.0
) -> Float[Tensor, "max_len d_model"]:
    """Return the table of waves, one row for each position.

    To start: create the positions and the even numbers with `torch.arange`, and let broadcasting
    compute all angles at once. A slice with a step, `[:, ::2]`, is every other column.

    Args:
        max_len: How many positions.
        d_model: How many columns; odd numbers are fine.
        base: Sets the longest wave.

    Returns:
        `(max_len, d_model)` in `torch.float32`.
    """
    ### BEGIN SOLUTION
    # At position 5000 a float32 angle is off by 3e-4, so the angles are float64.
    position = torch.arange(max_len, dtype=torch.float64)[:, None]
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angle = position / base**exponent
    table = torch.empty(max_len, d_model, dtype=torch.float32)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle[:, : d_model // 2].cos()
    return table
    ### END SOLUTION


class PositionalEncoding(nn.Module):
    """Add the table of waves to the tokens, then apply dropout.

    Its buffer `pe` holds the table. It has no parameter.
    """

    pe: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        """Create the table once, for all later calls.

        To start: look up `register_buffer`.

        Args:
            d_model: Features of a token.
            dropout: Probability of dropping a feature of the sum in training mode.
            max_len: Length of the longest sentence allowed.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.register_buffer("pe", sinusoidal_table(max_len, d_model))
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Add to each token the row of its position in the sentence.

        To start: cut the table to the length of this sentence, and let it broadcast over the batch.

        Args:
            x: `(B, L, d_model)`.

        Returns:
            `(B, L, d_model)`, a new tensor; don't modify `x`.

        Raises:
            ValueError: the sentence is longer than `max_len`.
        """
        ### BEGIN SOLUTION
        length, max_len = x.size(1), self.pe.size(0)
        if length > max_len:
            raise ValueError(f"a sentence of {length} tokens is longer than max_len = {max_len}")
        return self.dropout(x + self.pe[:length])
        ### END SOLUTION
