"""The length by vector_norm, squared again for eps; einsum for the scale; a config object."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    d_model: int
    eps: float


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6, *, device=None, dtype=None):
        super().__init__()
        self.config = Config(d_model, eps)
        self.weight = nn.Parameter(torch.empty(d_model, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        rms = (torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / self.config.d_model + self.config.eps) ** 0.5
        return torch.einsum("...d,d->...d", x / rms, self.weight)
