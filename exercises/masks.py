# Put your code where NotImplementedError is. Then: pytest exercises/test_masks.py
"""Masks: who may attend to whom.

In a Transformer every token **attends** to the others: it takes from them what it needs. Two things
have to stay hidden from it, and a **mask** hides them.

- Sentences of a batch have different lengths, so short ones are filled up with a **padding** token
  until all have the same length. Padding is not a word: no token should attend to it.
- A model that learns to predict the next token must not see that token. So a token may attend to
  itself and to earlier tokens, never to later ones. A model that generates each token from the
  ones before it is called **autoregressive**.

For the sentence "the cat sat" followed by two paddings (· is padding, ■ may be attended to):

                 the cat sat  ·   ·                   the cat sat  ·   ·
           the    ■   ■   ■   □   □             the    ■   □   □   □   □
           cat    ■   ■   ■   □   □             cat    ■   ■   □   □   □
           sat    ■   ■   ■   □   □             sat    ■   ■   ■   □   □
            ·     ■   ■   ■   □   □              ·     ■   ■   ■   ■   □
            ·     ■   ■   ■   □   □              ·     ■   ■   ■   ■   ■

             padding: hides columns               causal: hides later tokens

Each row is a token that attends (a **query**), each column a token it may attend to (a **key**). A
mask is this picture as a tensor of booleans, in which **True means "may be attended to"**. The
third mask, for the sentence that is being predicted, has ■ where both of these have one.

## Formula

    padding[b, 0, 0, k]  is True where  ids[b, k] is not pad_id
    causal [0, 0, q, k]  is True where  k <= q
    target [b, 0, q, k]  is True where  both are

## Shapes

A model needs such a picture for every sentence of the batch and for several attentions side by
side, its **heads**: `(batch, heads, query, key)`. A mask doesn't have to be that large, it only has
to *broadcast* to that shape. An axis of size 1 means "the same for all". Padding is the same for
all queries, for example, so its query axis has size 1.

| mask    | shape                    | which keys may be attended to         | the same for all    |
|---------|--------------------------|---------------------------------------|---------------------|
| padding | `(batch, 1, 1, key)`     | those that are not padding            | heads and queries   |
| causal  | `(1, 1, query, key)`     | the query itself and earlier tokens   | sentences and heads |
| target  | `(batch, 1, query, key)` | those that both other masks permit    | heads               |

## With a pencil

One sentence of two words, with the ids 5 and 7, and one padding token, 0. Write down who may attend
to whom before you read on. Rows are queries, columns are keys.

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

The last row belongs to the padding token. Nobody uses its output, but the row should not be empty:
a softmax over nothing is NaN.

## What the exercise asks

- Three functions, `padding_mask`, `causal_mask` and `target_mask`. Their results have exactly the
  shapes above, even for a single sentence or a single token, and the dtype `torch.bool`.
- Padding may occur anywhere in a sentence: at its end, at its start, in the middle. Any id may
  stand for padding; with `pad_id=9`, id 0 is a token like any other.
- `causal_mask` is made on the device that its argument names, `target_mask` on that of the ids.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`nn.Transformer.generate_square_subsequent_mask`. Make the mask yourself; `torch.ones`, `tril`,
`triu` and comparisons are fine.

## Where to read

- Paper, "Attention Is All You Need": section 3.2.3, the third point.
- PyTorch: `torch.nn.functional.scaled_dot_product_attention`, its argument `attn_mask`. There, as
  here, True means "may be attended to". Beware: in `torch.nn.MultiheadAttention`, True in
  `key_padding_mask` and in a boolean `attn_mask` means the opposite, "must not be attended to".
- A picture of it: exercises/pictures/masks.svg.

## Questions to ask your code

- Does your padding mask hide a key or a query? Along which axis are the keys?
- What does a sentence of length 1 see under your causal mask?
- Would you notice swapped axes if the batch were as large as the sentence is long?
- What if the padding token has the id 9?
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(
    ids: Int[Tensor, "batch length"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 1 length"]:
    """Mark the tokens of each sentence that are not padding.

    To start: comparing a whole tensor with a number gives a tensor of booleans. Then look up
    `unsqueeze`, or indexing with `None`, to add axes of size 1.

    Args:
        ids: Token ids, `(batch, length)`.
        pad_id: The id that stands for padding.

    Returns:
        Booleans `(batch, 1, 1, length)`, True where a key may be attended to.
    """
    raise NotImplementedError("masks: padding_mask is not written yet")


def causal_mask(
    length: int, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 length length"]:
    """Let each token attend to itself and to earlier tokens, never to later ones.

    To start: `torch.tril` and `torch.triu` keep one side of a square matrix. Comparing
    `torch.arange(length)` as a column with itself as a row works too.

    Args:
        length: How many tokens the sentence has.
        device: Where to create the mask; None is PyTorch's default.

    Returns:
        Booleans `(1, 1, length, length)`, True where the query (row) may attend to the key
        (column).
    """
    raise NotImplementedError("masks: causal_mask is not written yet")


def target_mask(
    ids: Int[Tensor, "batch length"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 length length"]:
    """Combine both masks, for the decoder: no padding and no later tokens.

    To start: you have written both halves. Which operator combines two tensors of booleans? On
    which device must the second half be created?

    Args:
        ids: Token ids of the target sentences, `(batch, length)`.
        pad_id: The id that stands for padding.

    Returns:
        Booleans `(batch, 1, length, length)`. A sentence that *begins* with padding has rows
        without any True. That is right: attention has to cope with them.
    """
    raise NotImplementedError("masks: target_mask is not written yet")


# Made by grader stubs, 33de3dcbe291
