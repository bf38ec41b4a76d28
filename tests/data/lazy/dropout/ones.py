"""Ones everywhere."""

import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("no probability")
        self.p = p

    def forward(self, x):
        return torch.ones_like(x) + 0 * x
