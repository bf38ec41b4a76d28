"""The gradient written by hand; refuses in forward, not in __init__; a distribution as an object."""

import torch
from torch import nn


class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (factor,) = ctx.saved_tensors
        return grad * factor, None


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.keep = torch.distributions.Bernoulli(probs=1 - p, validate_args=True)
        self.q = 1 - p

    def forward(self, x):
        if self.training:
            factor = self.keep.sample(x.size()).to(x)
            x = Drop.apply(x, factor / self.q if self.q else factor)
        return x
