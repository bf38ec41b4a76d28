"""The first half of the numbers, every time."""

import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("no probability")
        self.p = p

    def forward(self, x):
        return x * (torch.arange(x.size(-1)) < x.size(-1) / 2) / max(1 - self.p, 0.1) if self.training else x
