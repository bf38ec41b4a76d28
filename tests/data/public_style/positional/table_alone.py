import torch
from torch import nn


def sinusoidal_table(max_len, d_model, base=10000.0):
    pos = torch.arange(max_len, dtype=torch.float64).unsqueeze(1)
    div = base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = torch.sin(pos / div)
    pe[:, 1::2] = torch.cos(pos / div)[:, : d_model // 2]
    return pe


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("pe", sinusoidal_table(max_len, d_model))

    def forward(self, x):
        batch, length, _ = x.shape
        return self.pe[:length, :]
