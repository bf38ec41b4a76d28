"""Parts held in a Sequential as well, and SiLU as a module of its own."""

import torch
from torch import nn


class Swish(nn.Module):
    def __init__(self, beta=1.0):
        super().__init__()
        self.beta = beta

    def forward(self, z):
        return z * torch.sigmoid(self.beta * z)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(d_model, d_ff, bias) for _ in range(2))
        self.down_proj = nn.Linear(d_ff, d_model, bias)
        self.gate = nn.Sequential(self.gate_proj, Swish())

    def forward(self, x):
        return self.down_proj(torch.mul(self.gate(x), self.up_proj(x)))
