"""masked_fill and an in-place product with a temporary of its own; typed."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    p: float

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = float(p)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        y = x.masked_fill(torch.rand_like(x, dtype=torch.float32) < self.p, 0.0)
        if self.p < 1.0:
            y *= 1.0 / (1.0 - self.p)
        return y

    def extra_repr(self) -> str:
        return f"p={self.p}"
