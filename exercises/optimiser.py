# Put your code where NotImplementedError is. Then: pytest exercises/test_optimiser.py
"""Optimiser: turn gradients into a step that makes the loss smaller.

`backward` says in which direction the loss grows, but not how far to go in the opposite one. Plain
gradient descent takes the gradient itself as the step, so weights with small gradients hardly move
and a single huge gradient throws the model far off.

**Adam** gives every number of the model a step size of its own: it keeps a running mean m of its
gradients and a running mean v of their squares, and moves along m / √v. The size of the gradient
cancels, and what is left is how steadily it points the same way. **AdamW** is Adam with **weight
decay** that is *decoupled*: each weight also shrinks by a small fraction at every step, directly
instead of through the gradient, where the division by √v would weaken it for the weights with the
largest gradients.

Two helpers belong to every training run. **Gradient clipping** shortens the gradient when it is
longer than a limit, without changing its direction. A **schedule** says how large the learning rate
is at each step: a short warm-up, then half a cosine wave down to almost zero.

## Formula

AdamW, at step t = 1, 2, … of a parameter θ with the gradient g (m and v start at zero):

    m ← β₁ m + (1 - β₁) g                 m̂ = m / (1 - β₁ᵗ)
    v ← β₂ v + (1 - β₂) g²                v̂ = v / (1 - β₂ᵗ)

    θ ← θ - lr * weight_decay * θ
    θ ← θ - lr * m̂ / (√v̂ + eps)

m and v start at zero, so at first they are too small. Dividing by 1 - βᵗ makes up for it exactly;
this is called **bias correction**.

Clipping, over all gradients taken together as one long vector:

    norm = √(the sum of the squares of all numbers in all gradients)
    every gradient ← gradient * max_norm / norm            if norm > max_norm

The schedule:

    max_rate * step / warmup                                                    step < warmup
    min_rate + (1 + cos(π (step - warmup) / (total - warmup))) / 2 * (max_rate - min_rate)
    min_rate                                                                    step > total

## Shapes

    θ, its gradient, m, v      any, all the same
    norm                       ()            one number for all parameters

## With a pencil

At the first step m̂ is g and v̂ is g², so m̂ / √v̂ is +1 or -1: every number moves by lr, whether
its gradient is 4 or -0.001. With lr = 0.1 and weight_decay = 0.5, a weight of 1 first shrinks by
0.05:

    >>> weight = nn.Parameter(torch.tensor([1.0, 1.0]))
    >>> optimiser = AdamW([weight], lr=0.1, weight_decay=0.5)
    >>> weight.grad = torch.tensor([4.0, -0.001])
    >>> _ = optimiser.step()
    >>> weight.data
    tensor([0.8500, 1.0500])

Gradients of 3 and 4 have the norm 5 together. Clipped to 1, they keep their proportion:

    >>> weight, bias = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
    >>> weight.grad, bias.grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
    >>> clip_gradients([weight, bias], max_norm=1.0)
    tensor(5.)
    >>> weight.grad, bias.grad
    (tensor([0.6000, 0.0000]), tensor([0.8000]))

And a schedule with 4 steps of warm-up, 12 in all:

    >>> [round(cosine_rate(step, 1.0, 0.0, warmup=4, total=12), 2) for step in (0, 2, 4, 8, 12, 99)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]

## What the exercise asks

- `AdamW` is a `torch.optim.Optimizer` and equals `torch.optim.AdamW` step by step. The base class
  keeps `param_groups` (a list of dictionaries, each with its `params` and its own options) and
  `state` (a dictionary for each parameter), and turns both into a `state_dict`.
- Every parameter has its own m, v and t. Every group has its own options, and they may change
  between two steps: a schedule sets `group["lr"]`.
- A parameter whose `grad` is None is skipped: it doesn't decay, and its t doesn't increase.
- Gradients keep their values. Parameters stay the same objects.
- A new optimiser that loads the `state_dict` of an old one continues exactly as the old one would.
- If a `closure` is given, `step` calls it once, before the update and with gradients on, even
  inside `torch.no_grad()`, and returns its loss.
- The decay may come before or after the update, and eps may be added before or after the bias
  correction of v; neither is graded. eps is added to the root, not under it.
- `clip_gradients` takes any iterable of parameters, even one that can be read only once. Parameters
  without a gradient are skipped; if there is none at all, the norm is 0. Like torch, you may add
  1e-6 to the norm that you divide by.
- `cosine_rate` works with `warmup=0`. `warmup == total` doesn't occur.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## What may not be used

`torch.optim.AdamW`, `torch.optim.lr_scheduler`, `nn.utils.clip_grad_norm_`,
`nn.utils.clip_grads_with_norm_` and `nn.utils.get_total_norm`. Write the update yourself; the base
class `torch.optim.Optimizer`, norms and `torch._foreach_…` are fine.

## Where to read

- Paper, "Decoupled Weight Decay Regularization" by Loshchilov and Hutter (2019): algorithm 2.
- "Adam: A Method for Stochastic Optimization" by Kingma and Ba (2015), section 3: bias correction.
- "On the difficulty of training recurrent neural networks" by Pascanu and others (2013), section
  3.2: clipping. "SGDR" by Loshchilov and Hutter (2017), equation (5): the cosine.
- PyTorch: `torch.optim.Optimizer`, `torch.optim.AdamW`, `torch.nn.utils.clip_grad_norm_`,
  `torch.optim.lr_scheduler.CosineAnnealingLR`.

## Questions to ask your code

- How long is the first step for a gradient of 1000, and for one of 0.001?
- With gradients of zero, does a weight of 1 still decay? By how much?
- Two parameters have different gradients. Do they share anything in your optimiser?
- After `group["lr"] = 0`, does anything move?
- What is in `optimiser.state_dict()["state"]` after two steps? What would be lost without it?
- If your `parameters` is a generator, what does the second loop over it see?
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
    """Shorten all gradients together, so that their norm is at most `max_norm`.

    The numbers of all gradients count as one long vector, and its length is their L2 norm. If that
    is larger than `max_norm`, every `grad` is multiplied by the same factor; otherwise nothing
    changes. Parameters whose `grad` is None are skipped.

    To start: collect the gradients that there are in a list.

    Args:
        parameters: Any iterable of parameters, perhaps one that can be read only once.
        max_norm: The largest norm allowed.

    Returns:
        The norm before clipping, a tensor without axes (a float will do); 0 without any gradient.
    """
    raise NotImplementedError("optimiser: clip_gradients is not written yet")


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay, as `torch.optim.AdamW`."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        """Hand parameters and options to the base class.

        To start: `super().__init__(params, defaults)`. `defaults` is a dictionary with the options
        of every group that doesn't bring its own.

        Args:
            params: Parameters, or groups: dictionaries with `params` and options of their own.
            lr: The learning rate.
            betas: β₁ and β₂, how much of the running means stays at each step.
            eps: Added to √v̂, so that nothing is divided by zero.
            weight_decay: The fraction of a weight, times lr, that it loses at each step.
        """
        raise NotImplementedError("optimiser: AdamW.__init__ is not written yet")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, once.

        To start: loop over `self.param_groups` and, in each group, over `group["params"]`.
        `self.state[parameter]` is a dictionary, empty at first. Autograd must not record the
        update: see `torch.no_grad` and `torch.enable_grad`.

        Args:
            closure: Computes the gradients anew and returns the loss.

        Returns:
            The loss that `closure` returned, or None without one.
        """
        raise NotImplementedError("optimiser: AdamW.step is not written yet")


def cosine_rate(step: int, max_rate: float, min_rate: float, warmup: int, total: int) -> float:
    """Return the learning rate at a step: up in a straight line, then down along a cosine.

    To start: three cases, one for each line of the formula.

    Args:
        step: The number of the step, from 0 on.
        max_rate: The rate at step `warmup`, the highest.
        min_rate: The rate at step `total` and ever after.
        warmup: How many steps the rate rises; 0 for none.
        total: The step at which the cosine ends.

    Returns:
        The rate, a Python float.
    """
    raise NotImplementedError("optimiser: cosine_rate is not written yet")


# Made by grader stubs, bc86120091f3
