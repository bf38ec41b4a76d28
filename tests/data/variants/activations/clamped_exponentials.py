"""The formula of tanh as it stands, of a number that was clamped before; a mean with |x|."""

from math import pi

import torch


def relu(x):
    return (x + x.abs()) / 2


def tanh(x):
    x = torch.clamp(x, -40, 40)
    a, b = torch.exp(x), torch.exp(-x)
    return (a - b) / (a + b)


def gelu(x, approximate="none"):
    if approximate not in ["none", "tanh"]:
        raise ValueError("approximate 只能是 none 或 tanh")
    if approximate == "tanh":
        k = torch.sqrt(torch.tensor(2.0 / pi))
        return 0.5 * x * (1 + tanh(k * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + torch.erf(x / torch.sqrt(torch.tensor(2.0))))
