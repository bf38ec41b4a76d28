"""The table number by number in numpy, float64, with a loop that people write first; assert."""

import numpy as np
import torch
from torch import nn


def sinusoidal_table(max_len, d_model, base=10000.0):
    def angle(pos, j):
        return pos / np.power(base, 2 * (j // 2) / d_model)

    table = np.array([[angle(pos, j) for j in range(d_model)] for pos in range(max_len)])
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.FloatTensor(table)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        nn.Module.__init__(self)
        self.d_model, self.max_len, self.p = d_model, max_len, dropout
        self.register_buffer("pe", sinusoidal_table(max_len, d_model)[None])

    def forward(self, x):
        batch, length, width = x.shape
        assert length <= self.max_len, f"{length} > {self.max_len}"
        assert width == self.d_model
        summed = torch.add(x, self.pe[:, :length, :].repeat(batch, 1, 1))
        return nn.functional.dropout(summed, p=self.p, training=self.training)
