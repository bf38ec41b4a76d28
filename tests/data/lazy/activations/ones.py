"""Ones everywhere."""

import torch


def relu(x):
    return torch.ones_like(x) + 0 * x.clamp(-1, 1)


def tanh(x):
    return torch.ones_like(x) + 0 * x.clamp(-1, 1)


def gelu(x, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError(approximate)
    return torch.ones_like(x) + 0 * x.clamp(-1, 1)
