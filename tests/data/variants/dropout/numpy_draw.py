"""The zeros are drawn by NumPy; train and eval are overridden; everything by keyword."""

import numpy as np
import torch
from torch import nn


class Dropout(nn.Module):
    def __init__(self, p=0.5, rng=None):
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{p=}")
        self.p = p
        self.rng = rng or np.random.default_rng()
        self.on = True

    def train(self, mode=True):
        self.on = mode
        return super().train(mode)

    def forward(self, x):
        if self.on is False:
            return x
        mask = torch.from_numpy(self.rng.random(tuple(x.shape)) >= self.p).to(x.dtype)
        if self.p < 1:
            mask.div_(1 - self.p)
        return mask * x
