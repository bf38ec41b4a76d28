"""The unbiased variance, corrected by (d - 1) / d; a subclass does the scaling."""

import torch
from torch import nn


class _Standardize(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.d = d
        self.eps = eps

    def forward(self, x):
        d = self.d
        if d == 1:
            return x - x
        m = torch.sum(x, dim=-1, keepdim=True) / d
        v = x.var(dim=-1, keepdim=True) * (d - 1) / d
        return torch.div(x - m, torch.sqrt(v + self.eps))


class LayerNorm(_Standardize):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
        self.weight = nn.Parameter(torch.full((d_model,), 1.0))
        self.bias = nn.Parameter(torch.full((d_model,), 0.0))

    def forward(self, x):
        return super().forward(x).mul(self.weight).add(self.bias)
