"""The input is handed back, as another tensor."""

import torch


def relu(x):
    return x + 0


def tanh(x):
    return x + 0


def gelu(x, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError(approximate)
    return x + 0
