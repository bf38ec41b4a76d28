"""All tokens in one long matrix and addmm; typed, with a device and a dtype."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Linear(nn.Module):
    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        limit = in_features**-0.5
        draw = torch.distributions.Uniform(-limit, limit).sample
        self.weight = nn.Parameter(draw((out_features, in_features)).to(device, dtype))
        self.bias = nn.Parameter(draw((out_features,)).to(device, dtype)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.reshape(-1, self.in_features)
        if self.bias is None:
            y = torch.mm(tokens, self.weight.t())
        else:
            y = torch.addmm(self.bias, tokens, self.weight.t())
        return y.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return f"{self.in_features} → {self.out_features}"
