"""Training loop: show the model batch after batch, and correct it a little each time.

All pieces are there: a model, a loss, an optimiser, a schedule. What turns them into a model that
has learned something is a loop of a few lines. It can go wrong silently: the loss still falls if
old gradients are never cleared, if dropout is off, or if the learning rate lags one step behind.

One update, a **step**, has a fixed order. The model computes logits, the loss says how wrong they
are, `backward` puts a gradient into every parameter, clipping shortens them, and the optimiser
moves the parameters. `backward` *adds* to the gradients that are there, so the old ones have to be
cleared first.

To see whether the model does more than memorise its examples, you **evaluate** it on sentences that
it isn't trained on. It has two **modes**: in training mode dropout is on, in evaluation mode it is
off. An evaluation switches the mode, and switches it back at the end.

## Formula

One step, with parameters θ, on a batch (src, tgt):

    logits = model(src, all of tgt but the last token)
    loss   = loss(logits, all of tgt but the first token)
    θ      ← optimiser(θ, the gradients of loss, clipped to max_norm)

Evaluation, over batches of which batch i has nᵢ labels that are not padding and the mean loss ℓᵢ:

    (n₁ ℓ₁ + n₂ ℓ₂ + …) / (n₁ + n₂ + …)

That is the mean over all labels. A plain mean of the ℓᵢ would count a label in a short batch more
than one in a long batch.

Training for a number of steps, t = 1, 2, …, on a list of batches:

    learning rate of step t    rate(t)
    batch of step t            1st, 2nd, …, last, and the 1st again

## Shapes

    src             (B, Ls)            ids
    tgt             (B, Lt)            ids, from the start to the end and any padding
    logits          (B, Lt - 1, V)     as the loss takes them
    labels          (B, Lt - 1)
    losses          Python floats

## With a pencil

A batch with 3 labels has the mean loss 2, one with a single label has 6. All four labels together
have the mean (3 · 2 + 1 · 6) / 4 = 3; the plain mean of 2 and 6 would be 4. This stand-in for a
model only has a mode and a `pad_id`, and its loss is known:

    >>> class Silent(nn.Module):
    ...     pad_id = 0
    ...     def forward(self, src, tgt):
    ...         return torch.zeros(*tgt.shape, 9)
    >>> long = (torch.tensor([[5]]), torch.tensor([[1, 7, 8, 2]]))
    >>> short = (torch.tensor([[5]]), torch.tensor([[1, 2, 0, 0]]))
    >>> def loss(logits, labels):
    ...     return torch.tensor(2.0 if labels[0, 1] == 8 else 6.0)
    >>> evaluate(Silent(), [long, short], loss)
    3.0

## What the exercise asks

- `train_step` makes one update and returns its loss as a Python float. A tensor would keep
  everything it was computed from in memory. The step happens in training mode, whatever mode the
  model is in.
- Old gradients have no effect. Clear those of the model or those of the optimiser, as you like.
- `loss` is given logits `(B, Lt - 1, V)` and labels `(B, Lt - 1)` as they are, not flattened.
- With a `max_norm`, the gradients of the model's parameters are clipped to it, all together, after
  `backward` and before the update. `nn.utils.clip_grad_norm_` is fine, and so is your own.
- `evaluate` takes any iterable of batches, even one that can be read only once. Without any batch
  it raises `ValueError`. In every batch at least one label isn't `model.pad_id`, which may be any
  id.
- `evaluate` works in evaluation mode and without recording gradients; it changes neither parameters
  nor gradients, and leaves the model in the mode it was in. It returns a Python float.
- `fit` sets the `lr` of every group of the optimiser to `rate(t)` before step t; the first step is
  t = 1. It makes exactly `steps` steps, in the order of the batches, starting over when they run
  out, and returns the list of their losses.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need", section 5: batches, optimiser, schedule.
- "On the difficulty of training recurrent neural networks" by Pascanu and others (2013): clipping.
- PyTorch: the tutorial "Optimizing Model Parameters", `nn.Module.train`, `torch.no_grad`,
  `nn.utils.clip_grad_norm_`.

## Questions to ask your code

- Call `train_step` twice on the same batch. Which gradients does the second `step` use?
- What is `model.training` after `evaluate`? And if it was False before?
- Which learning rate does the first update of `fit` use: `rate(0)` or `rate(1)`?
- With three batches and seven steps, which batch comes last?
- Is the gradient clipped before or after it is used?
- Can two sentences of a batch, padded to the same length, have different numbers of labels?
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from solutions.training import teacher_forcing

Batch = tuple[Int[Tensor, "batch source"], Int[Tensor, "batch target"]]
Loss = Callable[
    [Float[Tensor, "batch target-1 vocab"], Int[Tensor, "batch target-1"]], Float[Tensor, ""]
]


def train_step(
    model: nn.Module,
    src: Int[Tensor, "batch source"],
    tgt: Int[Tensor, "batch target"],
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    max_norm: float | None = None,
) -> float:
    """Update the model once on a batch.

    To start: `teacher_forcing` from `training` splits the target. Then follow the formula, line by
    line; two more lines belong before it.

    Args:
        model: A `Transformer`: `model(src, tgt)` gives logits.
        src: Source ids.
        tgt: Target ids, not shifted yet.
        optimiser: It holds the model's parameters: see `zero_grad` and `step`.
        loss: What is made smaller: `loss(logits, labels)`, a tensor without axes.
        max_norm: The largest norm of the gradients, None for no limit.

    Returns:
        The loss of this batch, before the update.
    """
    ### BEGIN SOLUTION
    model.train()
    optimiser.zero_grad()
    decoder_input, labels = teacher_forcing(tgt)
    value = loss(model(src, decoder_input), labels)
    value.backward()  # type: ignore[no-untyped-call]
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    return value.item()
    ### END SOLUTION


def evaluate(model: Any, batches: Iterable[Batch], loss: Loss) -> float:
    """Return the mean loss over all labels of all batches, without training.

    To start: what has to be put back at the end? Keep it first.

    Args:
        model: A `Transformer`, in either mode; `model.pad_id` marks padding.
        batches: Pairs of source and target ids, of any lengths.
        loss: The mean over the labels of a batch that are not padding.

    Returns:
        The mean over the labels of all batches that are not padding.

    Raises:
        ValueError: If there is no batch.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for src, tgt in batches:
            decoder_input, labels = teacher_forcing(tgt)
            words = int((labels != model.pad_id).sum())
            total += words * loss(model(src, decoder_input), labels).item()
            count += words
    model.train(was_training)
    if count == 0:
        raise ValueError("there is no batch to evaluate on")
    return total / count
    ### END SOLUTION


def fit(
    model: nn.Module,
    batches: Sequence[Batch],
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    rate: Callable[[int], float],
    steps: int,
    max_norm: float | None = None,
) -> list[float]:
    """Train the model for a number of steps, with a learning rate for each.

    To start: a loop over the numbers of the steps. Which batch belongs to step t?

    Args:
        model: A `Transformer`.
        batches: Pairs of source and target ids, gone through again and again.
        optimiser: Its `param_groups` are dictionaries; `lr` is the learning rate.
        loss: As in `train_step`.
        rate: The learning rate of a step, by its number; the first step is 1.
        steps: How many updates to make.
        max_norm: As in `train_step`.

    Returns:
        The loss of each step.
    """
    ### BEGIN SOLUTION
    losses = []
    for step in range(1, steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = rate(step)
        src, tgt = batches[(step - 1) % len(batches)]
        losses.append(train_step(model, src, tgt, optimiser, loss, max_norm))
    return losses
    ### END SOLUTION
