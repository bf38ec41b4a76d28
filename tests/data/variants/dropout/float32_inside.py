"""Multiplies in float32 and casts back to the dtype of the input."""

import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        assert p >= 0
        assert p <= 1
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        mask = (torch.rand(*x.shape) > self.p).float()
        y = mask * x.float()
        if self.p < 1:
            y = y / (1.0 - self.p)
        return y.type_as(x)
