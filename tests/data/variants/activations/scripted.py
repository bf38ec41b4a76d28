"""Functions compiled with torch.jit.script."""

import math

import torch
from torch import Tensor


@torch.jit.script
def relu(x: Tensor) -> Tensor:
    return torch.clamp(x, min=0.0)


@torch.jit.script
def tanh(x: Tensor) -> Tensor:
    return 2.0 / (1.0 + torch.exp(-2.0 * torch.clamp(x, -30.0, 30.0))) - 1.0


@torch.jit.script
def _exact(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.erf(x * 0.7071067811865475))


def gelu(x, approximate="none"):
    if approximate == "none":
        return _exact(x)
    if approximate == "tanh":
        c = math.sqrt(2 / math.pi)
        return 0.5 * x * (1.0 + tanh(c * x * (1.0 + 0.044715 * x * x)))
    raise ValueError("unknown")
