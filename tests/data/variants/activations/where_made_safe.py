"""torch.where between two forms, each of numbers that are harmless to it."""

import torch

ROOT = 0.7071067811865476


def relu(x):
    return torch.where(x > 0, x, torch.zeros((), dtype=x.dtype))


def tanh(x):
    positive = x >= 0
    right = torch.exp(-2 * torch.where(positive, x, 0.0))
    left = torch.exp(2 * torch.where(positive, 0.0, x))
    return torch.where(positive, (1 - right) / (1 + right), (left - 1) / (left + 1))


def gelu(x, approximate="none"):
    match approximate:
        case "none":
            return x * (0.5 + 0.5 * torch.special.erf(x * ROOT))
        case "tanh":
            small = torch.clip(x, -20, 20)
            u = 0.7978845608028654 * (small + 0.044715 * small * small * small)
            return (x + x * tanh(u)) * 0.5
        case _:
            raise ValueError
