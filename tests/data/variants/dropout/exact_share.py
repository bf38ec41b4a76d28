"""Exactly the share p of the numbers, chosen by a random order."""

import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not (p >= 0 and p <= 1):
            raise ValueError(p)
        self.p = p

    def forward(self, x):
        if self.training and self.p > 0:
            n = x.numel()
            dropped = torch.randperm(n)[: round(self.p * n)]
            factor = torch.full((n,), 1 / max(1 - self.p, 1e-12), dtype=x.dtype)
            factor[dropped] = 0
            return x * factor.reshape(x.shape)
        return x.clone()
