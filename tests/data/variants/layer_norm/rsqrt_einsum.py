"""einsum for the sums, rsqrt, one multiplication."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        total = torch.einsum("...d->...", x)
        centred = x - (total / self.d_model).unsqueeze(-1)
        variance = torch.einsum("...d,...d->...", centred, centred) / self.d_model
        scale = torch.rsqrt(variance + self.eps)
        return torch.einsum("...d,...,d->...d", centred, scale, self.weight) + self.bias
