"""tanh by expm1 of what is never positive; erfc; maximum."""

import math

import torch


def relu(x):
    return torch.maximum(x, torch.zeros_like(x))


def tanh(x):
    decay = torch.expm1(-2 * x.abs())
    return -torch.sign(x) * decay / (decay + 2)


def gelu(x, approximate="none"):
    if approximate == "none":
        return x * 0.5 * torch.erfc(-x / math.sqrt(2.0))
    elif approximate == "tanh":
        u = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + tanh(u))
    raise ValueError(approximate)
