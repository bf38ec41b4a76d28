"""The input is handed back."""

import torch
from torch import nn


def sinusoidal_table(max_len, d_model, base=10000.0):
    return torch.eye(max_len, d_model)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("pe", sinusoidal_table(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        return x
