"""Scaled dot-product attention: a soft look-up.

A dictionary finds the one key that equals your query and hands you its value. Attention does this
softly: it compares the query with *every* key, turns the comparisons into weights that sum to one,
and hands back the average of the values under these weights. So each word can gather what it needs
from all the others, and since nothing here is cut off sharply, it can be trained.

## Formula

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

Read it from the inside. `Q Kᵀ` holds the dot product of every query with every key: large where
they point the same way. The division keeps these numbers from growing with `d_k`, the length of
the vectors. The softmax makes weights of them, and the last product takes the average.

Why √d_k? A dot product is a sum of `d_k` products. If the numbers are independent with mean 0 and
variance 1, so is each product, and variances of a sum add up: the sum has variance `d_k`, and is
about √d_k in size. Undivided, the softmax of such scores is all or nothing, and nothing is learnt.

    >>> products = (torch.randn(10000, 64) * torch.randn(10000, 64)).sum(-1)
    >>> 7.5 < products.std() < 8.5  # √64 is 8
    tensor(True)
    >>> torch.tensor([8.0, 0.0, -8.0]).softmax(-1)
    tensor([9.9966e-01, 3.3535e-04, 1.1250e-07])
    >>> torch.tensor([1.0, 0.0, -1.0]).softmax(-1)
    tensor([0.6652, 0.2447, 0.0900])

Where a mask is False, the key must get the weight 0. The paper does this before the softmax, by
making that score so low that nothing is left of it afterwards.

## Shapes

| name    | shape                         | meaning                                            |
|---------|-------------------------------|----------------------------------------------------|
| query   | `(..., Lq, d_k)`              | what each of the `Lq` looking tokens asks for      |
| key     | `(..., Lk, d_k)`              | what each of the `Lk` tokens looked at answers to  |
| value   | `(..., Lk, d_v)`              | what each of them has to give                      |
| mask    | broadcasts to `(..., Lq, Lk)` | booleans, True = may be looked at                  |
| weights | `(..., Lq, Lk)`               | how much each query takes of each key              |
| output  | `(..., Lq, d_v)`              | for each query, its average of the values          |

The dots stand for any axes in front: none, a batch, or a batch and heads. Matrix products and
softmax leave them alone, so you need not treat them.

## With a pencil

One query, two keys, `d_k = 4`. The dot products are 4 and 0, over √4 they are 2 and 0. Since
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

## What else counts

The hidden checks look at all that is said here, and at this:

- The mask may have any shape that broadcasts, `(Lq, Lk)` or `(batch, 1, 1, Lk)` for example. The
  weight of a hidden key is exactly 0.
- A query that may look at nothing gets finite numbers, not NaN, and changes no other row.
- Scores of up to a thousand in size make no NaN, and the mask holds for them: a fill of -1e4 does,
  one of -1e3 does not.
- Gradients flow back to query, key and value as through torch's own function.
- float32, float64 and bfloat16 come back as they came. Numbers made in your code take their dtype
  and device from the input.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.2.1, equation (1) and footnote 4.
- PyTorch: `torch.nn.functional.scaled_dot_product_attention` is the same thing. Its page shows a
  version in Python.

## Questions to ask your code

- Over which axis must the weights sum to one? Would you notice the other one if Lq = Lk?
- What is the variance of a dot product of two random vectors of length `d_k`? What divides it out?
- If a mask is applied after the softmax, what do the rows sum to then?
- A query may have nothing at all to look at. What does softmax make of a row of nothing but minus
  infinity, and what becomes of the gradients? Any finite numbers will do for such a row.
- Does your lowest score still exist in `torch.bfloat16`? `torch.finfo` knows.
- Does your code edit the scores, or a tensor that belongs to the caller?
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
    """Averages the values, each weighted by how well its key matches the query.

    To start: `@` multiplies the matrices in the last two axes and `transpose` turns a matrix round.
    Then look up `masked_fill` and `softmax`.

    Args:
        query: `(..., Lq, d_k)`.
        key: `(..., Lk, d_k)`.
        value: `(..., Lk, d_v)`.
        mask: Booleans that broadcast to `(..., Lq, Lk)`, True = may be looked at. None hides
            nothing. It has to hold for scores of up to a thousand in size.
        dropout: Applied to the weights before they meet the values, for example an `nn.Dropout`.
            None leaves them as they are.

    Returns:
        The output `(..., Lq, d_v)` and the weights `(..., Lq, Lk)`; the weights may be those
        before or after dropout. A query that may look at nothing gets finite numbers.
    """
    ### BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
    ### END SOLUTION
