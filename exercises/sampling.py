# Put your code where NotImplementedError is. Then: pytest exercises/test_sampling.py
"""Sampling: draw one token after another until the text is written.

A language model gives logits for the next token. If you always take the most probable one, texts
repeat themselves; if you draw from all of them, a text sooner or later contains a token from far
down the list, and goes astray from there. This exercise is about what lies between.

**Temperature** divides the logits before the softmax. Below 1 it makes probable tokens more
probable, above 1 it evens them out; at 0 only the most probable token is left. **Top-k** keeps the
k most probable tokens and rules out all others. **Top-p**, or nucleus sampling, keeps as many as it
takes to reach the probability p: few where the model is sure, many where it is not.

**Generation** repeats one step: ask the model, draw a token, append it. Only the logits of the last
position predict the next token. With a cache per block, the model reads every token once: first the
whole prompt, then one new token at a time.

## Formula

    p_i = exp(z_i / T) / Σ_j exp(z_j / T)                  temperature T > 0, logits z
    top-k:  the k largest z_i stay
    top-p:  the shortest prefix of the tokens in descending order whose p_i sum to p or more stays

A token that is ruled out has the logit -inf, so its probability is `exp(-inf) = 0`, and the softmax
shares out the rest among those that stay.

## Shapes

    logits                     (..., V)          for with_temperature, keep_top_k and keep_top_p
                               (B, V)            for sample
    drawn tokens               (B,)              int64
    ids                        (B, L)            the prompts
    model(ids, caches)         (B, L, V)         logits; L counts the tokens given
    result of generate         (B, <= L + max_new_tokens)

`model` is any object like your `LanguageModel`: `model(ids, caches)` with a list of one `KVCache`
per block, `model(ids)` without caches, and `model.blocks`.

## With a pencil

Five tokens with the probabilities 0.5, 0.25, 0.125, 0.0625 and 0.0625. Their logits are the
logarithms, and halving the temperature squares each probability, up to a common factor: 16, 4, 1,
1/4 and 1/4, divided by their sum, 21.5.

    >>> logits = torch.tensor([0.5, 0.25, 0.125, 0.0625, 0.0625]).log()
    >>> with_temperature(logits, 1.0)
    tensor([0.5000, 0.2500, 0.1250, 0.0625, 0.0625])
    >>> with_temperature(logits, 0.5) * 21.5
    tensor([16.0000,  4.0000,  1.0000,  0.2500,  0.2500])
    >>> with_temperature(logits, 0)
    tensor([1., 0., 0., 0., 0.])
    >>> keep_top_k(logits, 2).softmax(-1)
    tensor([0.6667, 0.3333, 0.0000, 0.0000, 0.0000])
    >>> keep_top_p(logits, 0.8).softmax(-1)
    tensor([0.5714, 0.2857, 0.1429, 0.0000, 0.0000])

0.5 and 0.25 are 0.75, which is not yet 0.8. So the third token, which crosses 0.8, stays too.

## What the exercise asks

- `keep_top_k` and `keep_top_p` return logits: those that stay are unchanged, at their indices,
  all others are -inf. Tokens that are -inf already stay so.
- Of equal logits at the threshold of top-k any may stay, or all of them. Where the probabilities of
  a prefix sum to exactly p, one token more may stay.
- `sample` applies the temperature first, then top-k, then top-p to what is left. An option that is
  None is off.
- Every row has its own distribution and is drawn independently of the others. With a `generator`,
  all draws come from it: generators with the same seed give the same tokens.
- Draws are graded by how often each token is drawn, over thousands of draws, never by seed.
- `generate` returns the prompts as they were, followed by what was drawn. With or without caches is
  your choice. An `eos_id` in a prompt doesn't end the text; every id may be `eos_id`, including 0.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`torch.distributions`. Filter and draw yourself; `torch.multinomial`, `topk`, `sort`, `cumsum` and
`softmax` are fine.

## Where to read

- Paper, "The Curious Case of Neural Text Degeneration" by Holtzman and others (2020): section 3.
- "Hierarchical Neural Story Generation" by Fan, Lewis and Dauphin (2018), section 5.4: top-k.
- PyTorch: `torch.multinomial`, `torch.topk`, `torch.sort`, `torch.cumsum`, `torch.Generator`.

## Questions to ask your code

- What is a logit divided by 0? And which token should temperature 0 give?
- With the probabilities 0.6 and 0.4 and p = 0.5, which tokens stay?
- Do two rows of a batch have the same threshold?
- Which position of the model's output predicts the next token?
- After the first step with a cache, which tokens does the model still have to read?
- What is drawn for a row that has ended while others go on?
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from exercises.kv_cache import KVCache


def with_temperature(logits: Float[Tensor, "... vocab"], temperature: float) -> Tensor:
    """Turn logits into probabilities.

    To start: write it for temperatures above 0.

    Args:
        logits: `(..., V)`. Don't modify them.
        temperature: 0 or more. At 0 the largest logit of each row has the probability 1, the first
            of several equal ones.

    Returns:
        Probabilities, `(..., V)`.

    Raises:
        ValueError: `temperature` is negative.
    """
    raise NotImplementedError("sampling: with_temperature is not written yet")


def keep_top_k(logits: Float[Tensor, "... vocab"], k: int) -> Float[Tensor, "... vocab"]:
    """Rule out all but the k largest logits of each row.

    To start: what is the smallest logit that stays?

    Args:
        logits: `(..., V)`. Don't modify them.
        k: 1 or more; if it is larger than V, all stay.

    Returns:
        `(..., V)`, with -inf where a token is ruled out.

    Raises:
        ValueError: `k` is less than 1.
    """
    raise NotImplementedError("sampling: keep_top_k is not written yet")


def keep_top_p(logits: Float[Tensor, "... vocab"], p: float) -> Float[Tensor, "... vocab"]:
    """Rule out all but the most probable tokens of each row that make up the probability p.

    To start: sort one row, and sum its probabilities from the largest on.

    Args:
        logits: `(..., V)`. Don't modify them.
        p: Above 0, up to 1. At 1 all tokens stay; at any p at least one does.

    Returns:
        `(..., V)`, with -inf where a token is ruled out. Those that stay are the fewest whose
        probabilities sum to p or more.

    Raises:
        ValueError: `p` is not in that range.
    """
    raise NotImplementedError("sampling: keep_top_p is not written yet")


def sample(
    logits: Float[Tensor, "batch vocab"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch"]:
    """Draw a token for every row.

    To start: `torch.multinomial` draws from probabilities, without any of the options.

    Args:
        logits: `(B, V)`. Don't modify them.
        temperature: See `with_temperature`; applied first.
        top_k: The `k` of `keep_top_k`, or None for all tokens.
        top_p: The `p` of `keep_top_p`, applied to what top-k has left, or None.
        generator: Where the random numbers come from; None for PyTorch's own.

    Returns:
        The ids drawn, `(B,)`, int64.

    Raises:
        ValueError: An option is out of its range, as in the functions above.
    """
    raise NotImplementedError("sampling: sample is not written yet")


@torch.no_grad()
def generate(
    model: Any,
    ids: Int[Tensor, "batch length"],
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch longer"]:
    """Continue every row, one token at a time.

    To start: without caches and without `eos_id`, ask the model for all ids so far at every step.

    Args:
        model: Offers `model(ids, caches)` and `blocks`, as `LanguageModel` does.
        ids: The prompts, `(B, L)`, `L` at least 1. Don't modify them.
        max_new_tokens: How many tokens to draw at most; 0 returns the prompts alone.
        temperature: See `sample`, as for `top_k` and `top_p`.
        eos_id: The token that ends a row when it is drawn, or None if none does.
        generator: Where the random numbers come from.

    Returns:
        `(B, <= L + max_new_tokens)`. A row that drew `eos_id` is filled with `eos_id`. When all
        rows have drawn it, generation ends.
    """
    raise NotImplementedError("sampling: generate is not written yet")


# Made by grader stubs, 819632c62a12
