"""Zeros and ones from torch.bernoulli, in the dtype of the input; the ends by themselves."""

import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        assert 0 <= p <= 1, "p must be a probability"
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        if self.p == 1:
            return torch.zeros_like(x)
        keep = 1 - self.p
        mask = torch.bernoulli(torch.full_like(x, keep))
        return x * mask / keep
