"""The table by turning the row before it, in float64; a dataclass holds the settings; prints."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    d_model: int
    dropout: float = 0.1
    max_len: int = 5000


def sinusoidal_table(max_len, d_model, base=10000.0):
    i = torch.arange((d_model + 1) // 2, dtype=torch.double)
    step = base ** (-2.0 * i / d_model)
    turn_sin, turn_cos = step.sin(), step.cos()
    s, c = torch.zeros_like(step), torch.ones_like(step)
    rows = []
    for _ in range(max_len):
        rows.append(torch.stack((s, c), 1).flatten()[:d_model])
        s, c = s * turn_cos + c * turn_sin, c * turn_cos - s * turn_sin
    return torch.stack(rows).type(torch.float32)


class PositionalEncoding(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.settings = Settings(*args, **kwargs)
        print("positional encoding for", self.settings)
        self.register_buffer(
            "pe", sinusoidal_table(self.settings.max_len, self.settings.d_model).view(1, -1, self.settings.d_model)
        )
        self.steps = nn.Sequential(nn.Identity(), nn.Dropout(self.settings.dropout))

    def forward(self, x):
        if x.shape[1] > self.settings.max_len:
            raise ValueError
        out = x.clone()
        out += self.pe[:, : x.shape[1]].to(out)
        return self.steps(out)
