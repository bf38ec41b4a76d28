"""The input is handed back."""

import torch


def relu(x):
    return x


def tanh(x):
    return x


def gelu(x, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError(approximate)
    return x
