# Put your code where NotImplementedError is. Then: pytest exercises/test_tiled_attention.py
"""Tiled attention: the same result without the large matrix.

Attention makes a matrix of weights, one number for every pair of query and key. For a text of
100,000 tokens that is ten billion numbers for each head, more than any machine holds. In 2022
FlashAttention showed that nobody needs the whole matrix: visit the keys a **block** at a time, keep
only what the final result depends on, and throw the block's scores away. Long contexts became
possible that way, and every fast attention of today works like this. Here you write it without the
GPU.

The difficulty is the softmax. It divides by a sum over *all* keys, and subtracts the largest score
of *all* keys first, and neither is known before the last block. The way out is the **online
softmax**: keep, for every query, the largest score so far, the sum of the exponentials so far and
the weighted sum of the values so far. Both sums are relative to that maximum. When a block brings a
larger score, everything summed up so far was computed with the wrong maximum, by a factor that is
the same for all of it: multiply both sums by that factor, and continue.

## Formula

For each query, with the scores s_j = q · k_j / √d of the keys j in the next block:

    m_new  = max(m, the largest s_j)

    total  = total  * e^(m - m_new) + the sum of e^(s_j - m_new)
    output = output * e^(m - m_new) + the sum of e^(s_j - m_new) * v_j

    m      = m_new

and after the last block

    result = output / total

Where the mask is False, the score must be so low that e^(s_j - m_new) is zero.

## Shapes

| name          | shape                         | meaning                                        |
|---------------|-------------------------------|------------------------------------------------|
| query         | `(..., Lq, d)`                | what each of the `Lq` queries asks for         |
| key           | `(..., Lk, d)`                | what each of the `Lk` keys answers to          |
| value         | `(..., Lk, d_v)`              | what each key contributes                      |
| mask          | broadcasts to `(..., Lq, Lk)` | booleans, True = may be attended to            |
| scores        | `(..., Lq, block)`            | of one block; the last one may be narrower     |
| m, total      | `(..., Lq, 1)`                | the running maximum and the running sum        |
| output        | `(..., Lq, d_v)`              | the running weighted sum of the values         |

## With a pencil

One query with three keys, `block = 2`. The scores are 0, log 2 and log 6, the values 9, 0 and 3.
The first block has the maximum log 2: its exponentials relative to that are 1/2 and 1, so total is
3/2 and output is 9/2. The second block brings log 6. The factor is e^(log 2 - log 6) = 1/3, so
total is 3/2 * 1/3 + 1 = 3/2 and output is 9/2 * 1/3 + 3 = 9/2. The result is 9/2 divided by 3/2,
which is 3. Compare: the weights are 1/9, 2/9 and 6/9, and 9/9 + 0 + 18/9 = 3.

    >>> query = torch.tensor([[1.0]])
    >>> key = torch.tensor([[1.0], [2.0], [6.0]]).log()
    >>> value = torch.tensor([[9.0], [0.0], [3.0]])
    >>> tiled_attention(query, key, value, block=2)
    tensor([[3.]])

## What the exercise asks

- The result is what `attention` gives, for any `block`, even if `Lk` is not a multiple of it, or
  smaller.
- No tensor that your code makes on the way forward may hold more numbers than (the leading sizes,
  multiplied) × Lq × the largest of block, d and d_v. Views don't count, since they hold nothing.
  The mask counts like anything else: `~mask` makes a whole new mask.
- A list of all blocks' scores doesn't get around that: the process that grades this exercise has 64
  MB for what your code makes, and 640 queries with 26,624 keys (block=512) have to fit.
- The mask may have any shape that broadcasts, `(Lq, Lk)`, `(batch, 1, 1, Lk)` or `(Lq, 1)` for
  example. It may hide a whole block, including the first.
- A query with nothing to attend to gives finite numbers, not NaN, and does not affect the others.
- Scores of up to a thousand in size are fine, and the mask holds for them: a fill of -1e4 is low
  enough, -1e3 is not.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`F.scaled_dot_product_attention`, `F.multi_head_attention_forward`, `nn.MultiheadAttention`,
`nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer`, `nn.TransformerEncoder`,
`nn.TransformerDecoder`, `nn.Transformer`, `F.softmax`, `nn.Softmax`, `F.log_softmax`,
`nn.LogSoftmax`, `F.softmin`, `nn.Softmin`, `F.gumbel_softmax`, `torch.logsumexp`,
`torch.logaddexp`, `torch.logcumsumexp`, `F.cross_entropy`, `nn.CrossEntropyLoss`,
`F.linear_cross_entropy`, `nn.AdaptiveLogSoftmaxWithLoss` and `F.ctc_loss`. Keep a running maximum
and sum yourself; matrix products, `einsum`, `exp`, `amax` and `maximum` are fine.

## Where to read

- Papers: "Online normalizer calculation for softmax" by Milakov and Gimelshein (2018), algorithm 3;
  "FlashAttention" by Dao, Fu, Ermon, Rudra and Ré (2022), section 3.1 and algorithm 1.
- PyTorch: `torch.nn.functional.scaled_dot_product_attention` gives the same result, and is tiled
  itself.

## Questions to ask your code

- What is the factor when a block brings no larger score? What is it for the very first block?
- What do you multiply by the factor? There are two running sums.
- Does your loop visit the last block if `Lk` is 7 and `block` is 3? What does your code do if the
  mask's last axis has size 1?
- What is your running maximum after a block in which the mask hides every key? What is -inf minus
  -inf?
- Which of your tensors has Lq × Lk numbers, if any?
- When do you divide by the total?
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def tiled_attention(
    query: Float[Tensor, "... query d"],
    key: Float[Tensor, "... key d"],
    value: Float[Tensor, "... key d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    block: int = 64,
) -> Float[Tensor, "... query d_v"]:
    """Average the values by attention weights, visiting the keys a block at a time.

    To start: write the loop over the blocks, and what it needs to know from the blocks before.
    `torch.maximum` takes the larger of two tensors, number by number.

    Args:
        query: `(..., Lq, d)`.
        key: `(..., Lk, d)`.
        value: `(..., Lk, d_v)`.
        mask: Booleans that broadcast to `(..., Lq, Lk)`, True = may be attended to. None hides
            nothing.
        block: How many keys to visit at a time, one or more.

    Returns:
        The output `(..., Lq, d_v)`. A query with nothing to attend to gives finite numbers.
    """
    raise NotImplementedError("tiled_attention: tiled_attention is not written yet")


# Made by grader stubs, 239e5aecc9b2
