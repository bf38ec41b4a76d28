"""SiLU and its slope by hand in an autograd.Function, computed in float32."""

import torch
from torch import nn


class _SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return (z.float() * z.float().sigmoid()).to(z.dtype)

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        s = z.float().sigmoid()
        return grad * (s * (1 + z.float() * (1 - s))).to(grad.dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x):
        return self.down_proj(_SiLU.apply(self.gate_proj(x)) * self.up_proj(x))
