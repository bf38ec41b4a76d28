"""Each pair is a complex number on the unit circle; rows by index_select; einops."""

import torch
from einops import rearrange, repeat
from torch import nn


def sinusoidal_table(max_len, d_model, base=10000.0):
    half = -(-d_model // 2)
    theta = base ** (-torch.arange(0, 2 * half, 2).double() / d_model)
    turn = torch.polar(torch.ones(max_len, half).double(), torch.arange(max_len)[:, None] * theta)
    table = rearrange([turn.imag, turn.real], "part pos pair -> pos (pair part)")
    return table[:, :d_model].float().contiguous()


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("pe", sinusoidal_table(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, n, d = x.shape
        if n > self.pe.shape[0]:
            raise ValueError("this sentence has more words than there are positions")
        where = torch.arange(n, device=x.device)
        rows = torch.index_select(self.pe, 0, where)
        return self.dropout(repeat(rows, "n d -> b n d", b=b) + x)
