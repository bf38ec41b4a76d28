"""All numbers are made larger, none is dropped."""

import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("no probability")
        self.p = p

    def forward(self, x):
        return x / (1 - self.p) if self.training and self.p < 1 else x
