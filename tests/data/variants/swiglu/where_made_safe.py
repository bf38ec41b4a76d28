"""The exponential of -|z| only, which never overflows, and `where`."""

import torch
from torch import nn


def silu(z):
    small = torch.exp(-z.abs())
    return z * torch.where(z >= 0, 1 / (1 + small), small / (1 + small))


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int, bias: bool = False) -> None:
        super().__init__()
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))
