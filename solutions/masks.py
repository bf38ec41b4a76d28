"""Masks: who may look at whom.

In a Transformer every word looks at the others and takes from them what it needs. Two things are
not to be looked at.

- Sentences of a batch have different lengths, so the short ones are filled up with a *padding*
  token until all are equally long. Padding is no word: nobody should look at it.
- A model that learns to guess the next word must not see that word while it guesses. So a word may
  look at itself and back, but never ahead.

For the sentence "the cat sat" with two paddings behind it (· is padding, ■ may be looked at):

                 the cat sat  ·   ·                   the cat sat  ·   ·
           the    ■   ■   ■   □   □             the    ■   □   □   □   □
           cat    ■   ■   ■   □   □             cat    ■   ■   □   □   □
           sat    ■   ■   ■   □   □             sat    ■   ■   ■   □   □
            ·     ■   ■   ■   □   □              ·     ■   ■   ■   ■   □
            ·     ■   ■   ■   □   □              ·     ■   ■   ■   ■   ■

             padding: the columns                 causal: never ahead

The one who looks stands on the left, the one who is looked at on top. A mask is such a picture as
a tensor of booleans, in which **True means "may be looked at"**. The third, for the sentence that
is being guessed, has ■ where both of these have one.

## Shapes

The word that looks is called the *query*, the word that is looked at the *key*. A model makes such
a picture for each sentence of the batch, and several side by side, which it calls heads:
`(batch, heads, query, key)`. A mask need not be that large, it must only *broadcast* to that
shape: an axis of size 1 means "the same for all of them". Padding is the same for everybody who
looks, for example, so its query axis has size 1.

| mask    | shape                    | which keys may be looked at           | the same for all    |
|---------|--------------------------|---------------------------------------|---------------------|
| padding | `(batch, 1, 1, key)`     | those that are not padding            | heads and queries   |
| causal  | `(1, 1, query, key)`     | the query itself and what precedes it | sentences and heads |
| target  | `(batch, 1, query, key)` | those that both of the others permit  | heads               |

## Formula

    padding[b, 0, 0, k]  is True where  ids[b, k] is not pad_id
    causal [0, 0, q, k]  is True where  k <= q
    target [b, 0, q, k]  is True where  both are

## With a pencil

One sentence of two words, with the ids 5 and 7, and one padding token, 0. Write down who may be
looked at before you read on. Rows are queries, columns are keys.

    >>> ids = torch.tensor([[5, 7, 0]])
    >>> padding_mask(ids)
    tensor([[[[ True,  True, False]]]])
    >>> causal_mask(3)[0, 0]
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    >>> target_mask(ids)[0, 0]
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True, False]])

The last row belongs to the padding token. What it looks at is of no use to anybody, but it needs
something to look at, or else its softmax has nothing to share out.

## What else counts

The hidden checks look at all that is said here, and at this:

- Padding may stand anywhere in a sentence: at its end, at its start, in the middle.
- The shapes are exactly those above, also for one sentence or one token, and the dtype is
  `torch.bool`.
- A mask is made on the device that is asked for; `target_mask` takes that of the ids.
- The ids stay as they were: no edits in place. So do the settings that all code shares, such as
  torch's default dtype.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3.2.3, the third point.
- PyTorch: `torch.nn.functional.scaled_dot_product_attention`, its argument `attn_mask`. There, as
  here, True means "may be looked at". Beware: in `torch.nn.MultiheadAttention`, True in
  `key_padding_mask` and in a boolean `attn_mask` means the opposite, "must not be looked at".

## Questions to ask your code

- Is it a key or a query that your padding mask switches off? In which axis do keys live?
- What does a sentence of length 1 see under your causal mask?
- Would you notice a mix-up of two axes if the batch were as large as the sentence is long?
- What if the padding token has the id 9?
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(
    ids: Int[Tensor, "batch length"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 1 length"]:
    """Says which tokens of each sentence are words and not padding.

    To start: a comparison of a whole tensor with a number gives a tensor of booleans. Then look up
    `unsqueeze`, or indexing with `None`, to add axes of size 1.

    Args:
        ids: Token ids, `(batch, length)`.
        pad_id: The id that stands for padding.

    Returns:
        Booleans `(batch, 1, 1, length)`, True where a key may be looked at.
    """
    ### BEGIN SOLUTION
    return (ids != pad_id)[:, None, None, :]
    ### END SOLUTION


def causal_mask(
    length: int, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 length length"]:
    """Lets each token look at itself and at what came before it, never at what comes after.

    To start: `torch.tril` and `torch.triu` keep one side of a square matrix. Comparing
    `torch.arange` with itself, once upright and once lying, works too.

    Args:
        length: How many tokens the sentence has.
        device: Where to make the mask; None is PyTorch's default.

    Returns:
        Booleans `(1, 1, length, length)`, True where the query (row) may look at the key (column).
    """
    ### BEGIN SOLUTION
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()
    ### END SOLUTION


def target_mask(
    ids: Int[Tensor, "batch length"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 length length"]:
    """Both at once, for the decoder: no padding and no future.

    To start: you have written both halves. Which operator joins two tensors of booleans? On which
    device must the second half be made?

    Args:
        ids: Token ids of the target sentences, `(batch, length)`.
        pad_id: The id that stands for padding.

    Returns:
        Booleans `(batch, 1, length, length)`. A sentence that *begins* with padding has rows with
        no True at all; that is right, and it is attention that must cope with them.
    """
    ### BEGIN SOLUTION
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)
    ### END SOLUTION
