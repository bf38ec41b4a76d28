"""Forward and backward by hand in an autograd.Function."""

import torch
from torch import nn


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        inverse = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, inverse)
        return x * inverse

    @staticmethod
    def backward(ctx, grad):
        x, inverse = ctx.saved_tensors
        along = (grad * x).mean(-1, keepdim=True) * inverse**2
        return inverse * (grad - x * along), None


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.full((d_model,), 1.0)))

    def forward(self, x):
        return _Normalise.apply(x, self.eps) * self.weight
