# Put your code where NotImplementedError is. Then: pytest exercises/test_dropout.py
"""Dropout: don't let the model depend on any single feature.

A model that is trained long enough on too few sentences memorises them. Dropout makes that hard:
during training, each number is replaced by zero with probability `p`, drawn anew in every call.

No feature can rely on another one being there, so what is learned has to be spread over many
features. At inference nothing is dropped.

## Formula

    training      y = m * x / (1 - p)       m is 0 with probability p, else 1, for each number
    evaluation    y = x

Why divide? During training, a sum over many features loses a share `p` of its terms. Without the
division it would be larger by a factor `1 / (1 - p)` as soon as nothing is dropped any more, and
the next layer would meet numbers of a size that it never saw. The division keeps the average: a
number is `x / (1 - p)` with probability `1 - p`, and `(1 - p) * x / (1 - p) = x`. Doing this during
training, and leaving evaluation alone, is called **inverted dropout**. PyTorch does it too.

## Shapes

    x, m, y                    any shape, the same for all three

## With a pencil

With `p = 0.75` three of four numbers become zero, and the fourth becomes four times as large. Of
10000 ones about 2500 are left, as fours, and the mean is still about 1.

    >>> _ = torch.manual_seed(0)
    >>> drop = Dropout(0.75)
    >>> y = drop(torch.ones(10000))
    >>> y.unique()
    tensor([0., 4.])
    >>> round(y.mean().item(), 1)
    1.0
    >>> drop.eval()(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1., 2., 3.])

With `p = 1` everything is zero, instead of the formula's 0 / 0:

    >>> Dropout(1.0)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0., 0., 0.])

## What the exercise asks

- A module `Dropout(p=0.5)` without parameters. In training mode it drops each number independently;
  in evaluation mode it returns all of them unchanged.
- A `p` outside the range from 0 to 1 raises `ValueError`. 0 and 1 themselves are allowed. With
  `p = 1`, all results are zero, not NaN, and so is any gradient.
- Every call draws anew what to drop, from torch's or NumPy's random numbers: don't set a seed.
- Gradients have the same zeros and the same factor as the numbers.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`nn.Dropout`, `F.dropout`, `F.dropout1d`, `F.alpha_dropout` and `F.feature_alpha_dropout`. Draw the
zeros and rescale yourself; `torch.rand` and `torch.bernoulli` are fine.

## Where to read

- Paper, "Attention Is All You Need": section 5.4 says where dropout is applied. The idea is from
  "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" by Srivastava and others
  (2014). There the weights are scaled down for evaluation (section 4); section 10 mentions the
  other way, ours.
- PyTorch: `torch.nn.Dropout` is the same layer.

## Questions to ask your code

- How does a module know whether it is being trained? What do `train()` and `eval()` set?
- `torch.rand` can return 0 but never 1. Is your comparison right for `p = 0` and for `p = 1`?
- What is 0 / 0 for a tensor? What numbers do you get for `p = 1`, and what gradients?
- Do you draw a random number for each number of `x`, or one per row or per sentence?
- If `x` is bfloat16 and your zeros and ones are float32, what dtype does their product have?
- Does the caller's own `x` still hold all of its numbers afterwards?
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Module):
    """Replace numbers by zero during training and scale up the others. It has no parameter."""

    def __init__(self, p: float = 0.5) -> None:
        """Keep the probability.

        To start: which numbers are probabilities? 0 and 1 are.

        Args:
            p: The probability with which a number becomes zero.

        Raises:
            ValueError: `p` is less than 0 or greater than 1.
        """
        super().__init__()
        raise NotImplementedError("dropout: Dropout.__init__ is not written yet")

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Drop each number on its own in training mode; return all of them in evaluation mode.

        To start: `torch.rand(...) < p` is True with probability `p`.

        Args:
            x: Any shape, float32, float64 or bfloat16; don't modify it.

        Returns:
            The same shape and dtype, finite for every `p` from 0 to 1. A dropped number has
            gradient 0; the gradient of a kept one is larger by `1 / (1 - p)`, like the number.
        """
        raise NotImplementedError("dropout: Dropout.forward is not written yet")


# Made by grader stubs, 81c5cc57990c
