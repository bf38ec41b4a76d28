# Put your code where NotImplementedError is. Then: pytest exercises/test_attention.py
"""Scaled dot-product attention: a soft lookup.

A word means little on its own: what "it" stands for is written elsewhere in the sentence. Attention
lets every token gather what it needs from all the others, in a single step, however far apart they
are.

A dictionary finds the one key that equals your query and returns its value. Attention does this
softly. It compares the query with *every* key, turns the comparisons into weights that sum to one,
and returns the average of the values under these weights. The choice is never all or nothing, and
because every step is smooth, it can be trained by gradient descent.

## Formula

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

    softmax(z)_k = e^(z_k) / (e^(z_1) + … + e^(z_n))

Read it from the inside. `Q Kᵀ` holds the dot product of every query with every key, the **scores**:
large where the two point the same way. Dividing by `√d_k` keeps the scores from growing with `d_k`,
the length of the vectors. The softmax turns each row of scores into **weights**, and the last
product averages the values.

Why √d_k? A dot product is a sum of `d_k` products. If the numbers are independent with mean 0 and
variance 1, so is each product, and the variances of a sum add up: the sum has variance `d_k`, so
its size is about √d_k. Without the division the softmax is nearly all or nothing: one weight is
close to 1, its gradient is close to 0, and the model learns almost nothing.

    >>> products = (torch.randn(10000, 64) * torch.randn(10000, 64)).sum(-1)
    >>> 7.5 < products.std() < 8.5  # √64 is 8
    tensor(True)
    >>> torch.tensor([8.0, 0.0, -8.0]).softmax(-1)
    tensor([9.9966e-01, 3.3535e-04, 1.1250e-07])
    >>> torch.tensor([1.0, 0.0, -1.0]).softmax(-1)
    tensor([0.6652, 0.2447, 0.0900])

Where a mask is False, the key must get weight 0. As in the paper, this happens *before* the
softmax: the score is replaced by a number so low that nothing of it is left afterwards. The softmax
then divides all of the weight among the visible keys; hiding keys after it would leave rows that no
longer sum to one.

Every query meets every key, so time and memory grow with the square of the length, O(L²).

## Shapes

| name    | shape                         | meaning                                            |
|---------|-------------------------------|----------------------------------------------------|
| query   | `(..., Lq, d_k)`              | what each of the `Lq` attending tokens looks for   |
| key     | `(..., Lk, d_k)`              | what each of the `Lk` attended tokens is found by  |
| value   | `(..., Lk, d_v)`              | what each of them contributes                      |
| mask    | broadcasts to `(..., Lq, Lk)` | booleans, True = may be attended to                |
| weights | `(..., Lq, Lk)`               | how much each query takes from each key            |
| output  | `(..., Lq, d_v)`              | for each query, its average of the values          |

The dots stand for any axes in front: none, a batch, or a batch and heads. Matrix products and
softmax leave them alone, so you don't have to handle them.

## With a pencil

One query, two keys, `d_k = 4`. The dot products are 4 and 0; divided by √4 they are 2 and 0. Since
e² = 7.389 and e⁰ = 1, the weights are 7.389 / 8.389 = 0.8808 and 1 / 8.389 = 0.1192.

    >>> query = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    >>> key = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -1.0, -1.0]])
    >>> value = torch.tensor([[10.0, 0.0], [0.0, 10.0]])
    >>> output, weights = attention(query, key, value)
    >>> weights
    tensor([[0.8808, 0.1192]])
    >>> output
    tensor([[8.8080, 1.1920]])

With the first key hidden, all the weight goes to the second.

    >>> attention(query, key, value, mask=torch.tensor([[False, True]]))
    (tensor([[ 0., 10.]]), tensor([[0., 1.]]))

## What the exercise asks

- A function that returns the output and the weights, in this order.
- The mask may have any shape that broadcasts, `(Lq, Lk)` or `(batch, 1, 1, Lk)` for example. The
  weight of a hidden key is exactly 0.
- A query that may attend to nothing gets finite numbers, not NaN, and doesn't affect other rows.
- Scores as large as a thousand give no NaN, and the mask holds for them: a fill of -1e4 is low
  enough, -1e3 is not.
- `dropout`, if given, acts on the weights before they meet the values. The weights returned may be
  those before or after it.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`F.scaled_dot_product_attention`, `F.multi_head_attention_forward`, `nn.MultiheadAttention`,
`nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer`, `nn.TransformerEncoder`,
`nn.TransformerDecoder` and `nn.Transformer`. Write attention yourself; matrix products, `einsum`
and `softmax` are fine.

## Where to read

- Paper, "Attention Is All You Need": section 3.2.1, equation (1) and footnote 4.
- PyTorch: `torch.nn.functional.scaled_dot_product_attention` is the same function. Its page shows a
  version in Python.
- A picture of it: exercises/pictures/attention.svg.

## Questions to ask your code

- Over which axis must the weights sum to one? Would you notice a wrong axis if Lq = Lk?
- What is the variance of a dot product of two random vectors of length `d_k`? What makes it 1?
- If a mask is applied after the softmax, what do the rows sum to?
- A query may have nothing to attend to. What does softmax give for a row of nothing but minus
  infinity, and what do the gradients become? Any finite numbers will do for such a row.
- Does your lowest score exist in `torch.bfloat16`? `torch.finfo` knows.
- Does your code modify the scores, or a tensor that belongs to the caller?
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def attention(
    query: Float[Tensor, "... query d_k"],
    key: Float[Tensor, "... key d_k"],
    value: Float[Tensor, "... key d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Float[Tensor, "... query d_v"], Float[Tensor, "... query key"]]:
    """Average the values, each weighted by how well its key matches the query.

    To start: `@` multiplies the matrices in the last two axes, and `transpose` swaps two axes. Then
    look up `masked_fill` and `softmax`.

    Args:
        query: `(..., Lq, d_k)`.
        key: `(..., Lk, d_k)`.
        value: `(..., Lk, d_v)`.
        mask: Booleans that broadcast to `(..., Lq, Lk)`, True = may be attended to. None hides
            nothing. The mask has to hold for scores as large as a thousand.
        dropout: Applied to the weights before they meet the values, for example an `nn.Dropout`.
            None leaves them unchanged.

    Returns:
        The output `(..., Lq, d_v)` and the weights `(..., Lq, Lk)`; the weights may be those
        before or after dropout. A query that may attend to nothing gets finite numbers.
    """
    raise NotImplementedError("attention: attention is not written yet")


# Made by grader stubs, 26bdd9f5be40
