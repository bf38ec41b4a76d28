"""Compiled with torch.jit.script; amax as a list of axes."""

import torch
from torch import Tensor


@torch.jit.script
def _shift(x: Tensor, dim: int) -> Tensor:
    return x - torch.amax(x, dim=[dim], keepdim=True)


@torch.jit.script
def softmax(x: Tensor, dim: int = -1) -> Tensor:
    e = torch.exp(_shift(x, dim))
    return e / torch.sum(e, dim=[dim], keepdim=True)


@torch.jit.script
def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    z = _shift(x, dim)
    return z - torch.log(torch.sum(torch.exp(z), dim=[dim], keepdim=True))


@torch.jit.script
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    logits = logits.reshape(-1, logits.size(-1))
    z = _shift(logits, -1)
    own = torch.gather(z, 1, labels.reshape(-1, 1)).squeeze(1)
    return torch.mean(torch.log(torch.sum(torch.exp(z), dim=[1])) - own)
