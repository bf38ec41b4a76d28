"""Zeros while training, the input in evaluation."""

import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("no probability")
        self.p = p

    def forward(self, x):
        return x * 0 if self.training else x
