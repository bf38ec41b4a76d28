# positional: right
# A loop at the top of a cell makes a table that the answer uses.
# %%
import torch
from torch import nn
frequencies = torch.zeros(512, dtype=torch.float64)
for i in range(512):
    frequencies[i] = 2 * (i // 2)
# %% positional
def sinusoidal_table(max_len, d_model, base=10000.0):
    positions = torch.arange(max_len, dtype=torch.float64)[:, None]
    angles = positions / base ** (frequencies[:d_model] / d_model)
    table = torch.zeros(max_len, d_model, dtype=torch.float64)
    table[:, 0::2] = angles[:, 0::2].sin()
    table[:, 1::2] = angles[:, 1::2].cos()
    return table.float()


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", sinusoidal_table(max_len, d_model))

    def forward(self, x):
        if x.size(1) > self.pe.size(0):
            raise ValueError("too long")
        return self.dropout(x + self.pe[: x.size(1)].to(x.dtype))
# %% positional-points
