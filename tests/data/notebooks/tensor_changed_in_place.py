# positional: wrong
# A demonstration changes a table that the answer uses.
# %%
import torch
from torch import nn
base_angles = torch.arange(5000, dtype=torch.float64)[:, None]
# %% positional
def sinusoidal_table(max_len, d_model, base=10000.0):
    exponents = 2 * (torch.arange(d_model, dtype=torch.float64) // 2) / d_model
    angles = base_angles[:max_len] / base**exponents
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
# %%
base_angles.fill_(1.0)
# %% positional-points
