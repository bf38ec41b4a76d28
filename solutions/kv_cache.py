"""KV cache: keep the keys and values of past tokens instead of computing them again.

A language model writes one token at a time. Each new token attends to all tokens before it, so it
needs their keys and values; and those never change, because no token attends to a later one.
Without a cache the model computes all of them anew for each token that it writes: to write 1000
tokens it reads 1 + 2 + … + 1000 tokens, half a million. With a **KV cache** it reads each of them
once.

The cache belongs to one attention layer. The layer computes the key and the value of the *new*
tokens only, appends them to the cache, and attends to everything that the cache returns. Queries
are not kept: the query of an old token is never needed again.

Then a mask is no longer square. If the cache holds `past` tokens and `length` new ones arrive,
there are `length` queries and `past + length` keys, and new token i has the position `past + i`.

## Formula

    append:      keys = [keys ; key]      values = [values ; value]      along the axis of tokens

    mask[i, j] = True where j ≤ past + i

## Shapes

    key, value given to append       (B, H, l, d)       (B, H, l, d_v)
    keys, values that come back      (B, H, length, d)  (B, H, length, d_v)
    rows given to reorder            (B',)
    causal_mask_with_past            (1, 1, length, past + length)

`l` may differ from call to call: a whole prompt first, then one token after another. `length` is
the number of tokens that the cache holds, the new ones included.

## With a pencil

One sentence, one head, one feature. Two tokens arrive, then a third:

    >>> import torch
    >>> cache = KVCache()
    >>> cache.length
    0
    >>> keys, values = cache.append(torch.tensor([[[[1.0], [2.0]]]]), torch.zeros(1, 1, 2, 1))
    >>> keys, values = cache.append(torch.tensor([[[[3.0]]]]), torch.zeros(1, 1, 1, 1))
    >>> keys.flatten().tolist(), cache.length
    ([1.0, 2.0, 3.0], 3)

Beam search keeps several beginnings of a sentence as the rows of a batch. After each step some
continue twice and others are dropped. Here row 1 continues twice and row 0 once:

    >>> beams = KVCache()
    >>> _ = beams.append(torch.tensor([[[[1.0]]], [[[5.0]]]]), torch.zeros(2, 1, 1, 1))
    >>> beams.reorder(torch.tensor([1, 1, 0]))
    >>> keys, values = beams.append(torch.zeros(3, 1, 1, 1), torch.zeros(3, 1, 1, 1))
    >>> keys.flatten(1).tolist()
    [[5.0, 0.0], [5.0, 0.0], [1.0, 0.0]]

Three tokens in the cache and two new ones. The first new one attends to the three and to itself:

    >>> causal_mask_with_past(length=2, past=3).int()
    tensor([[[[1, 1, 1, 1, 0],
              [1, 1, 1, 1, 1]]]], dtype=torch.int32)

## What the exercise asks

- `length` is an int that can be read at any time: 0 at first, then the number of tokens held.
- A tensor that you were given or have returned never changes afterwards, whatever happens to the
  cache. So don't write into a tensor that somebody else may still hold.
- Two caches share nothing.
- The batch, the number of heads and the features of later calls must be those of the first:
  anything else is a `ValueError`. After `reorder` the batch is the number of rows. `reorder` of an
  empty cache does nothing.
- Gradients flow back to every key and value that was appended, through every later result.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Fast Transformer Decoding: One Write-Head is All You Need" by Shazeer (2019): section 2.3,
  how a model writes token by token, and what it costs to read the keys and values again.
- PyTorch has no such class; `torch.cat` and `torch.Tensor.index_select` are what it is made of.

## Questions to ask your code

- Which axis of `(B, H, l, d)` grows?
- What does the second call return: the new keys, or all?
- Where are your tensors stored: in the object, or in the class that all caches share?
- Someone keeps the keys of the first call. What are they after `reorder`?
- The cache holds one token, and four arrive at once. What does the mask look like?
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class KVCache:
    """The keys and values of all tokens so far, for one attention layer.

    `length` is the number of tokens that it holds.
    """

    length: int

    def __init__(self) -> None:
        """Create an empty cache.

        To start: the shapes are not known yet. What can stand for "nothing so far"?
        """
        ### BEGIN SOLUTION
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.length = 0
        ### END SOLUTION

    def append(
        self,
        key: Float[Tensor, "batch heads new d"],
        value: Float[Tensor, "batch heads new d_v"],
    ) -> tuple[Float[Tensor, "batch heads length d"], Float[Tensor, "batch heads length d_v"]]:
        """Append the keys and values of new tokens, and return those of all tokens in order.

        To start: the first call differs from all others.

        Args:
            key: `(B, H, l, d)`.
            value: `(B, H, l, d_v)`.

        Returns:
            The keys `(B, H, length, d)` and the values `(B, H, length, d_v)`.

        Raises:
            ValueError: the batch, the heads or the features are not those of what is held.
        """
        ### BEGIN SOLUTION
        if self.keys is None or self.values is None:
            self.keys, self.values = key, value
        else:
            for held, new in ((self.keys, key), (self.values, value)):
                if held.shape[:2] != new.shape[:2] or held.size(3) != new.size(3):
                    raise ValueError(f"a tensor of shape {tuple(new.shape)} does not fit the cache")
            # Why this way: cat makes new tensors, so those returned earlier stay as they are.
            self.keys = torch.cat([self.keys, key], dim=2)
            self.values = torch.cat([self.values, value], dim=2)
        self.length = self.keys.size(2)
        return self.keys, self.values
        ### END SOLUTION

    def reorder(self, rows: Int[Tensor, "new_batch"]) -> None:
        """Continue with these rows of the batch, in this order, some twice and some not at all.

        To start: indexing a tensor with a tensor of row numbers picks rows.

        Args:
            rows: The row numbers, `(B',)`; the batch is `B'` from now on.
        """
        ### BEGIN SOLUTION
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]
        ### END SOLUTION


def causal_mask_with_past(
    length: int, past: int, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 length past+length"]:
    """Return the causal mask of new tokens that follow `past` others.

    To start: write down the position of each query and of each key, and compare them.

    Args:
        length: How many new tokens there are.
        past: How many tokens stand before them.
        device: Where to create the mask; None is PyTorch's default.

    Returns:
        `(1, 1, length, past + length)`, True = may be attended to.
    """
    ### BEGIN SOLUTION
    query = past + torch.arange(length, device=device)
    key = torch.arange(past + length, device=device)
    return (key <= query[:, None])[None, None]
    ### END SOLUTION
