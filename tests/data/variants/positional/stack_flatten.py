"""Sine and cosine stacked and flattened; the cosine is a shifted sine; typed."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor, nn

QUARTER: Final = math.pi / 2


def sinusoidal_table(max_len: int, d_model: int, base: float = 10000.0) -> Tensor:
    pairs = (d_model + 1) // 2
    i = torch.arange(pairs, dtype=torch.float64)
    frequencies = torch.pow(torch.tensor(base, dtype=torch.float64), -2 * i / d_model)
    angles = torch.outer(torch.arange(max_len, dtype=torch.float64), frequencies)
    waves = torch.stack([torch.sin(angles), torch.sin(angles + QUARTER)], dim=-1)
    return waves.reshape(max_len, 2 * pairs)[:, :d_model].to(torch.float32)


class PositionalEncoding(nn.Module):
    pe: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        table = sinusoidal_table(max_len, d_model)
        self.register_buffer("pe", table)
        self.drop = nn.Dropout(dropout) if dropout > 0 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        *_, length, _ = x.shape
        if length > len(self.pe):
            raise ValueError(f"{length=} exceeds max_len={len(self.pe)}")
        return self.drop(x + self.pe.narrow(0, 0, length).unsqueeze(0).expand_as(x))
