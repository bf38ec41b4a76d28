"""Calls that are forbidden only in some cases: the condition, and what happens otherwise.

The guard puts each of these in the place of what it is named after. No original is kept, so that
none can be found and called: in the allowed cases they do the same by other means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn
from weakref import WeakSet

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Stop = Callable[..., NoReturn]

# The modules that a check has passed to the student's code, and all their parts.
given: WeakSet[nn.Module] = WeakSet()


def smoothed(
    stop: Stop,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """`aten::cross_entropy_loss`, unless it is asked to smooth the labels.

    As in torch, a target of the input's shape holds probabilities.
    """
    if label_smoothing != 0.0:
        stop()
    axis = min(input.dim() - 1, 1)
    log_probabilities = torch.log_softmax(input, axis)
    if input.shape != target.shape:
        loss: Tensor = torch.ops.aten.nll_loss_nd(
            log_probabilities, target, weight, reduction, ignore_index
        )
        return loss
    losses = -(log_probabilities * target)
    if weight is not None:
        losses = losses * weight.reshape([-1] + [1] * (input.dim() - 1 - axis))
    if reduction == 0:
        return losses.sum(axis)
    count = losses.numel() // losses.size(axis) if reduction == 1 else 1
    return losses.sum() / count


def given_linear(stop: Stop, self: nn.Linear, input: Tensor) -> Tensor:
    """`nn.Linear.forward`, unless it is that of a part of a module that was given."""
    if self in given:
        stop()
    return F.linear(input, self.weight, self.bias)


def given_dropout(stop: Stop, self: nn.Dropout, input: Tensor) -> Tensor:
    """`nn.Dropout.forward`, unless it is that of a part of a module that was given."""
    if self in given:
        stop()
    return F.dropout(input, self.p, self.training, self.inplace)


_CONDITIONS: dict[str, Callable[..., Any]] = {
    "smoothed": smoothed,
    "given linear": given_linear,
    "given dropout": given_dropout,
}


def find(name: str) -> Callable[..., Any]:
    """Return the condition that a target names after `if`."""
    return _CONDITIONS[name]
