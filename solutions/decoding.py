"""Decoding: write a sentence with a trained model, one token after the other.

A trained Transformer scores every token as the next one. To translate, you start with the start
token, ask for the next, append one, and ask again, until the end token is written or there is no
room left. Which token should you append?

**Greedy decoding** always appends the likeliest one. That is fast, but a token that looks good now
may lead nowhere.

**Beam search** keeps several unfinished sentences at once, the **beam**, and in the end returns the
likeliest whole sentence it has found. A greedy search is a beam search with a beam of one.

## Formula

The probability of a sentence is the product of the probabilities of its tokens, so its
log-probability is a sum. That is its score, where p is the softmax of the logits:

    score(w_1 … w_n) = log p(w_1) + log p(w_2 | w_1) + … + log p(w_n | w_1 … w_n-1)

At each step of beam search the candidates are

- every finished sentence of the beam, unchanged, with the score it has, and
- every unfinished one extended by one token, for each token of the vocabulary,

and the best `beam_size` of all these are the new beam. The search ends when all sentences of the
beam are finished, or when they are `max_len` long. Then the best of the beam wins, finished or not.
Scores are not divided by the length.

## Shapes

    src                        (B, Ls)          source ids
    tgt, so far                (B, Lt)          target ids
    model.encode(src)          (B, Ls, d_model) the memory
    model.decode(…)            (B, Lt, d_model)
    model.generator(…)         (B, Lt, V)       logits, not yet probabilities
    result                     (B, <= max_len)  target ids

`model` is any object that offers `encode(src)`, `decode(tgt, memory, src)`, `generator(x)`,
`forward(src, tgt)` and `pad_id`, as your `Transformer` does. It is in evaluation mode.

## With a pencil

Five tokens: padding, start, end, a, b. The next token depends on the last one only:

    after start    a 0.6                      b 0.4
                     |                          |
    after a        end 0.5   a 0.3   b 0.2    end 0.9   a 0.05   b 0.05      after b

Greedy decoding appends a, since 0.6 is more than 0.4, then end: 0.6 * 0.5 = 0.30. A beam of two
keeps both, and finds that b, then end has probability 0.4 * 0.9 = 0.36, which is more.

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

## What the exercise asks

- A batch gives what each of its rows gives alone, and any id from 0 on may be padding, start or
  end.
- The result is one tensor of ids, at most `max_len` wide.
- Logits may be large, a hundred and more, and their `exp` is infinite in float32: use `log_softmax`
  or `softmax`, which can handle them, not a quotient of `exp`s.
- The model comes in evaluation mode. It is not changed: neither its weights nor its mode.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 6.1 (with a length penalty, which we leave out).
- "Sequence to Sequence Learning with Neural Networks" by Sutskever, Vinyals and Le (2014), section
  3.2: a short description of beam search.
- PyTorch has neither.
- A picture of it: exercises/pictures/decoding.svg.

## Questions to ask your code

- At which position of the decoder's output is the *next* token predicted?
- Is the source encoded once, or once per token?
- What happens to a row that has ended while others go on? And when all have ended?
- Does the start token count towards `max_len`?
- Are scores sums of logarithms? Of probabilities, or of logits?
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
    """Write a target for every source, always appending the likeliest next token.

    Any id may be generated, including `bos_id` and `model.pad_id`; neither of them ends the
    sentence. Rows do not affect each other. The model is not changed.

    To start: a tensor of `bos_id`s of shape `(B, 1)`, and `torch.cat` with one more column.

    Args:
        model: Offers `encode`, `decode`, `generator`, `forward` and `pad_id`.
        src: Source ids, `(B, Ls)`.
        bos_id: The start token, with which every target begins.
        eos_id: The end token, different from the start token. It ends a target.
        max_len: Maximum length of a target, start token included: 1 gives just the start token.

    Returns:
        Target ids, int64, `(B, L)` with `L <= max_len`. After its `eos_id` a row is filled with
        `model.pad_id`. Decoding stops when all rows have ended.
    """
    ### BEGIN SOLUTION
    memory = model.encode(src)
    tgt = torch.full((src.size(0), 1), bos_id, device=src.device)
    has_ended = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)
    while tgt.size(1) < max_len and not has_ended.all():
        logits = model.generator(model.decode(tgt, memory, src)[:, -1])
        word = logits.argmax(dim=-1).masked_fill(has_ended, model.pad_id)
        tgt = torch.cat([tgt, word.unsqueeze(1)], dim=1)
        has_ended |= word == eos_id
    return tgt
    ### END SOLUTION


@torch.no_grad()
def beam_search(
    model: Any,
    src: Int[Tensor, "batch source"],
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int = 4,
) -> Int[Tensor, "batch target"]:
    """Write the likeliest target that beam search finds, for every source.

    The score of a target is the sum of the log-probabilities of its tokens (the `log_softmax` of
    the logits), including the end token's but not the start token's; it is not divided by the
    length. Finished targets stay candidates, with their score; at `max_len` unfinished ones compete
    too. Any id may be generated, rows do not affect each other, and the model is not changed.

    To start: write it for a single row, with a Python list of (score, ids).

    Args:
        model: Offers `encode`, `decode`, `generator`, `forward` and `pad_id`.
        src: Source ids, `(B, Ls)`.
        bos_id: The start token, with which every target begins.
        eos_id: The end token, different from the start token. It ends a target.
        max_len: Maximum length of a target, start token included: 1 gives just the start token.
        beam_size: Number of candidates kept at each step. 1 is greedy decoding; it may be larger
            than the vocabulary.

    Returns:
        The best target of each row, int64, `(B, L)` with `L <= max_len`, filled with
        `model.pad_id` after its end.
    """
    ### BEGIN SOLUTION
    # Why this way: rows must not compete, and their beams finish at different steps.
    best = []
    for row in src.unsqueeze(1):
        memory = model.encode(row)
        beam = [(0.0, [bos_id])]
        for _ in range(max_len - 1):
            finished = [(score, ids) for score, ids in beam if eos_id in ids]
            growing = [(score, ids) for score, ids in beam if eos_id not in ids]
            if not growing:
                break
            tgt = torch.tensor([ids for _, ids in growing], device=src.device)
            count = len(growing)
            states = model.decode(tgt, memory.expand(count, -1, -1), row.expand(count, -1))
            log_p = F.log_softmax(model.generator(states[:, -1]), dim=-1)
            candidates = finished + [
                (score + gain, [*ids, word])
                for (score, ids), gains in zip(growing, log_p.tolist(), strict=True)
                for word, gain in enumerate(gains)
            ]
            beam = sorted(candidates, reverse=True)[:beam_size]
        best.append(max(beam)[1])
    longest = max(map(len, best))
    filled = [ids + [model.pad_id] * (longest - len(ids)) for ids in best]
    return torch.tensor(filled, device=src.device)
    ### END SOLUTION
