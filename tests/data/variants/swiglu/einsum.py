"""einsum over the raw weights; the sigmoid from tanh."""

import torch
from torch import nn


def sigmoid(z):
    return 0.5 * (1 + torch.tanh(0.5 * z))


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        for name, sizes in {"gate": (d_model, d_ff), "up": (d_model, d_ff), "down": (d_ff, d_model)}.items():
            setattr(self, f"{name}_proj", nn.Linear(*sizes, bias=bias))

    def _map(self, name, x):
        layer = getattr(self, f"{name}_proj")
        y = torch.einsum("...i,oi->...o", x, layer.weight)
        return y if layer.bias is None else y + layer.bias

    def forward(self, x):
        gate = self._map("gate", x)
        return self._map("down", sigmoid(gate) * gate * self._map("up", x))
