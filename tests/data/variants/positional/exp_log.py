"""The exponent by exp and log, the table with a batch axis, not persistent."""

import math

import torch
import torch.nn as nn


def sinusoidal_table(max_len, d_model, base=10000.0):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(base) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)[:, : d_model // 2]
    return pe


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super(PositionalEncoding, self).__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = sinusoidal_table(max_len, d_model).unsqueeze(0)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError("sequence too long")
        x = x + self.pe[:, : x.size(1)]
        return self.dropout(x)
