"""Black-box measurements of a model's behaviour, trained or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

NOTICED = 1e-3


def tried(measured: Callable[[], bool]) -> bool | None:
    """Return what was measured; None where the student's code raised."""
    try:
        return measured()
    except Exception:
        return None


def differ(first: Tensor, second: Tensor, noticed: float = NOTICED) -> bool:
    """Return whether two outputs differ by more than rounding."""
    return bool((first - second).abs().max() > noticed * (1 + second.abs().max()))


def unreached(model: Any, loss: Callable[[], Tensor]) -> list[str]:
    """Return the parameters that the loss sends no gradient to. A bias of keys never gets any."""
    try:
        model.zero_grad()
        torch.autograd.backward(loss())
    except Exception:
        return []
    missed = [
        name
        for name, weight in model.named_parameters()
        if not name.endswith("k_proj.bias") and (weight.grad is None or not weight.grad.any())
    ]
    model.zero_grad()
    return missed
