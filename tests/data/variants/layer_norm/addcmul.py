"""addcmul and var_mean; the parameters made with register_parameter and nn.init; typed."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LayerNorm(nn.Module):
    weight: Tensor
    bias: Tensor
    eps: float

    def __init__(self, d_model: int, eps: float = 1e-5, *, device: str | None = None) -> None:
        super().__init__()
        self.eps = eps
        for name in ("weight", "bias"):
            self.register_parameter(name, nn.Parameter(torch.empty(d_model, device=device)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        var, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
        inverse = (var + self.eps).pow(-0.5)
        return torch.addcmul(self.bias, self.weight, (x - mean) * inverse)

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, eps={self.eps}"
