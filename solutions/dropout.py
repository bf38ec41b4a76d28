"""Dropout: so that nothing hangs by a single thread.

A model that is trained long enough on too few sentences learns them by heart. Dropout makes that
hard: while training, each number is replaced by zero with probability `p`, and which ones is drawn
anew in every call. No feature can rely on another one being there, so what is learned has to be
spread over many. When the model is used, nothing is dropped.

## Formula

    training      y = m * x / (1 - p)       m is 0 with probability p, else 1, for each number
    evaluation    y = x

Why divide? A sum over many features loses the share `p` of its terms while training, and would be
larger by `1 / (1 - p)` as soon as nothing is dropped any more: the next layer would meet numbers of
a size that it never saw. Dividing makes up for it, so that on the average a number stays what it
was: it is `x / (1 - p)` with probability `1 - p`, and `(1 - p) * x / (1 - p) = x`. To do so while
training, and leave evaluation alone, is called *inverted* dropout, and is what everybody does.

## Shapes

    x, m, y                    any shape, all three the same

## With a pencil

With `p = 0.75` three of four numbers become zero, and the fourth is four times as large. Of 10000
ones, about 2500 are left, as fours, and their mean is still about 1.

    >>> _ = torch.manual_seed(0)
    >>> drop = Dropout(0.75)
    >>> y = drop(torch.ones(10000))
    >>> y.unique()
    tensor([0., 4.])
    >>> round(y.mean().item(), 1)
    1.0
    >>> drop.eval()(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1., 2., 3.])

With `p = 1` everything is zero, in place of the formula's 0 / 0:

    >>> Dropout(1.0)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0., 0., 0.])

## What else counts

The hidden checks look at all that is said here, and at this:

- What is dropped is drawn anew in every call, from torch's or NumPy's random numbers: set no seed.
- Gradients follow the same zeros and the same factor as the numbers.
- float32, float64 and bfloat16 come back as they came. Numbers made in your code take their dtype
  and device from the input.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## What may not be used

`nn.Dropout` and its relatives, `F.dropout` and its, and `torch.native_dropout` would do it for you;
here they cost the exercise. `torch.rand` and `torch.bernoulli` are fine.

## Where to read

- Paper, "Attention Is All You Need": section 5.4 says where. The idea is from "Dropout: A Simple
  Way to Prevent Neural Networks from Overfitting" by Srivastava and others (2014). There the
  weights are made smaller in evaluation (section 4); section 10 names the other way, ours.
- PyTorch: `torch.nn.Dropout` is the same thing.

## Questions to ask your code

- How does a module find out whether it is being trained? What do `train()` and `eval()` set?
- `torch.rand` can draw 0 and cannot draw 1. Is that right for `p = 0` and for `p = 1`, with your
  comparison?
- What is 0 / 0 for a tensor? Which numbers come out for `p = 1`, and which gradients?
- Is there a number drawn for each number of `x`, or one for a whole row, or for a whole sentence?
- If `x` is in bfloat16 and your zeros and ones are in float32, in which dtype is their product?
- Does the caller's own `x` still hold all of its numbers afterwards?
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Module):
    """Replaces numbers by zero while training, and makes up for it. It has no parameter."""

    def __init__(self, p: float = 0.5) -> None:
        """Keeps the probability.

        To start: which numbers are probabilities? 0 and 1 are.

        Args:
            p: The probability with which a number becomes zero.

        Raises:
            ValueError: `p` is not between 0 and 1.
        """
        super().__init__()
        ### BEGIN SOLUTION
        if not 0 <= p <= 1:
            raise ValueError(f"p = {p} is no probability, which lies between 0 and 1")
        self.p = p
        ### END SOLUTION

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Drops each number by itself in training mode; hands on all of them in evaluation mode.

        To start: comparing random numbers between 0 and 1 with `p` is True with probability `p`.

        Args:
            x: Any shape, float32, float64 or bfloat16; it stays as it was.

        Returns:
            The same shape and dtype, finite for every `p` from 0 to 1. What is zero gives no
            gradient; what is kept gives one that is larger by `1 / (1 - p)`, too.
        """
        ### BEGIN SOLUTION
        if not self.training:
            return x
        kept = torch.rand(x.shape, device=x.device) >= self.p
        scale = 1 / (1 - self.p) if self.p < 1 else 0.0
        return x * kept * scale
        ### END SOLUTION
