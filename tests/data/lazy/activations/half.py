"""Half of the input."""

import torch


def relu(x):
    return x / 2


def tanh(x):
    return x / 2


def gelu(x, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError(approximate)
    return x / 2
