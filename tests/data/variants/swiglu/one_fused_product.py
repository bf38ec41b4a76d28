"""Gate and up in one product over the joined weights; chunk."""

import torch
import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x):
        weight = torch.cat([self.gate_proj.weight, self.up_proj.weight])
        bias = None if self.gate_proj.bias is None else torch.cat([self.gate_proj.bias, self.up_proj.bias])
        gate, up = F.linear(x, weight, bias).chunk(2, dim=-1)
        return self.down_proj(up * (gate * gate.sigmoid()))
