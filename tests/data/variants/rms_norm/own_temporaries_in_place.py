"""In place, on tensors of its own; addcmul; the mean by a product with a constant vector."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.register_buffer("share", torch.full((d_model, 1), 1 / d_model), persistent=False)

    def forward(self, x):
        y = x.clone()
        scale = (x * x) @ self.share
        scale = scale.add_(self.eps).pow(-0.5)
        y *= scale
        y *= self.weight
        return y
