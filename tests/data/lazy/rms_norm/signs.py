"""The signs of the input, which no factor changes."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return self.weight * torch.sign(x).sum(-1, keepdim=True).sign() * torch.ones_like(x)
