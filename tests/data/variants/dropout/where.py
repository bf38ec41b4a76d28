"""torch.where, which must not divide by zero in the branch that it does not take."""

import torch
from torch import nn


def dropout(x, p, training):
    if not training:
        return x
    scaled = x * (1 / (1 - p) if p != 1 else 1)
    return torch.where(torch.empty_like(x).uniform_() < p, torch.zeros_like(x), scaled)


class Dropout(nn.Module):
    def __init__(self, p: float = 0.5):
        super(Dropout, self).__init__()
        self.p = p
        if p > 1 or p < 0:
            raise ValueError("不是概率")

    def forward(self, x):
        return dropout(x, self.p, self.training)
