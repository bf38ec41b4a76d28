"""One hidden feature at a time, summed up: what large models do across machines."""

import torch
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        total = 0
        for feature, column in enumerate(self.down_proj.weight.unbind(1)):
            g = gate[..., feature : feature + 1]
            total = total + torch.sigmoid(g) * g * up[..., feature : feature + 1] * column
        return total if self.down_proj.bias is None else total + self.down_proj.bias
