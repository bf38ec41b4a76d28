"""A Linear of its own whose parameters have the names and shapes of nn.Linear's."""

import math

import torch
from torch import nn


class Projection(nn.Module):
    def __init__(self, d_in, d_out, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in) / math.sqrt(d_in))
        self.bias = nn.Parameter(torch.zeros(d_out)) if bias else None

    def forward(self, x):
        y = x @ self.weight.transpose(0, 1)
        if self.bias is not None:
            y = y + self.bias
        return y


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        self.gate_proj = Projection(d_model, d_ff, bias)
        self.up_proj = Projection(d_model, d_ff, bias)
        self.down_proj = Projection(d_ff, d_model, bias)

    def forward(self, x):
        z = self.gate_proj(x)
        activated = z * torch.special.expit(z)
        return self.down_proj(activated * self.up_proj(x))
