# Put your code where NotImplementedError is. Then: pytest exercises/test_decoding.py
"""Decoding: writing a sentence, one word after the other.

A trained Transformer says of every word how likely it comes next. To translate, you start with the
start word, ask, append a word, ask again, until the end word comes or there is no room left. But
which word do you append?

## Greedy

Always the likeliest. That is quick, but a word that looks good now may lead nowhere.

## Beam search

Keep several beginnings at once, the *beam*, and at the end take the likeliest whole sentence. The
probability of a sentence is the product of its words' probabilities, so its log-probability is a
sum, and that is its score:

    score(w_1 … w_n) = log p(w_1) + log p(w_2 | w_1) + … + log p(w_n | w_1 … w_n-1)

At each step the candidates are

- every finished sentence of the beam, as it is, with the score that it has, and
- every unfinished one with one more word, for each word of the vocabulary,

and the best `beam_size` of all these are the new beam. It ends when all are finished, or when they
are `max_len` long; then the best of the beam wins, finished or not. Scores are not divided by the
length. With `beam_size=1` this is greedy.

## With a pencil

Five words: padding, start, end, a, b. The next word depends on the last one only:

    after start    a 0.6                      b 0.4
                     |                          |
    after a        end 0.5   a 0.3   b 0.2    end 0.9   a 0.05   b 0.05      after b

Greedy takes a, since 0.6 is more than 0.4, then end: 0.6 * 0.5 = 0.30. A beam of two keeps both,
and finds that b, then end has 0.4 * 0.9 = 0.36, which is more.

    >>> class Toy:
    ...     pad_id = 0
    ...     def encode(self, src):
    ...         return src
    ...     def decode(self, tgt, memory, src):
    ...         return tgt
    ...     def generator(self, ids):
    ...         return torch.tensor([
    ...             [0.2, 0.2, 0.2, 0.2, 0.2],
    ...             [0.0, 0.0, 0.0, 0.6, 0.4],
    ...             [0.2, 0.2, 0.2, 0.2, 0.2],
    ...             [0.0, 0.0, 0.5, 0.3, 0.2],
    ...             [0.0, 0.0, 0.9, 0.05, 0.05],
    ...         ]).log()[ids]
    >>> src = torch.tensor([[7, 8]])
    >>> greedy_decode(Toy(), src, bos_id=1, eos_id=2, max_len=5)
    tensor([[1, 3, 2]])
    >>> beam_search(Toy(), src, bos_id=1, eos_id=2, max_len=5, beam_size=2)
    tensor([[1, 4, 2]])

## Shapes

    src                        (B, Ls)          source ids
    tgt, so far                (B, Lt)          target ids
    model.encode(src)          (B, Ls, d_model) the memory
    model.decode(…)            (B, Lt, d_model)
    model.generator(…)         (B, Lt, V)       logits: not yet probabilities
    result                     (B, <= max_len)  target ids

`model` is any object that offers `encode(src)`, `decode(tgt, memory, src)`, `generator(x)`,
`forward(src, tgt)` and `pad_id`, as your `Transformer` does. It comes in evaluation mode.

## What else counts

The hidden checks look at all that is said here, and at this:

- A batch gives what each of its rows gives alone, and every id from 0 on may be padding, start or
  end.
- The result is one tensor of ids. It is never longer than `max_len`.
- Logits may be large, a hundred and more, and their `exp` is infinite in float32: `log_softmax` and
  `softmax` are made for that, a quotient of `exp`s is not.
- The model stays as it was: weights and mode. So do `src` and the settings that all code shares.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 6.1 (with a length penalty, which we leave out).
- "Sequence to Sequence Learning with Neural Networks" by Sutskever, Vinyals and Le (2014), section
  3.2: a short description of beam search.
- PyTorch has neither.

## Questions to ask your code

- At which place of the decoder's output does the *next* word stand?
- Is the source encoded once, or once for every word?
- What happens to a row that has ended while others go on? And when all have?
- Does the start word count as one of `max_len`?
- Are scores added up as logarithms? Of probabilities, or of logits?
- Does a finished sentence stay in the beam, with its score, although it no longer grows?
- Do two rows of a batch ever compete with each other?
- What if `beam_size` is larger than the vocabulary?
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor


@torch.no_grad()
def greedy_decode(
    model: Any, src: Int[Tensor, "batch source"], bos_id: int, eos_id: int, max_len: int
) -> Int[Tensor, "batch target"]:
    """Writes a target for every source, always with the likeliest next word.

    Any word may come, also `bos_id` and `model.pad_id`, which end nothing. Rows do not influence
    each other. The model is not changed.

    To start: a tensor of `bos_id`s of shape `(B, 1)`, and `torch.cat` with one more column.

    Args:
        model: Offers `encode`, `decode`, `generator`, `forward` and `pad_id`.
        src: Source ids, `(B, Ls)`. Not to be edited.
        bos_id: The start word, with which every target begins.
        eos_id: The end word, another than the start. A target ends with it.
        max_len: How long a target may be, the start word included: 1 gives just that.

    Returns:
        Target ids, int64, `(B, L)` with `L <= max_len`. After its `eos_id` a row is filled with
        `model.pad_id`. When all rows have ended, nothing more is written.
    """
    raise NotImplementedError("decoding: greedy_decode is not written yet")


@torch.no_grad()
def beam_search(
    model: Any,
    src: Int[Tensor, "batch source"],
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int = 4,
) -> Int[Tensor, "batch target"]:
    """Writes the likeliest target that a beam finds, for every source.

    The score of a target is the sum of the log-probabilities of its words (of the logits, take the
    `log_softmax`), the end word's included, the start word's not; it is not divided by the length.
    Finished targets stay candidates, with their score; at `max_len` unfinished ones compete too.
    Any word may come, rows do not influence each other, the model is not changed.

    To start: write it for a single row, with a Python list of (score, ids).

    Args:
        model: Offers `encode`, `decode`, `generator`, `forward` and `pad_id`.
        src: Source ids, `(B, Ls)`. Not to be edited.
        bos_id: The start word, with which every target begins.
        eos_id: The end word, another than the start. A target ends with it.
        max_len: How long a target may be, the start word included: 1 gives just that.
        beam_size: How many candidates are kept at each step. 1 is greedy; it may be larger than
            the vocabulary.

    Returns:
        The best target of each row, int64, `(B, L)` with `L <= max_len`, filled with
        `model.pad_id` after its end.
    """
    raise NotImplementedError("decoding: beam_search is not written yet")


# Made by grader stubs, fff518178afa
