"""A function compiled with torch.jit.script; the parameter under a second name as well."""

import torch
from torch import Tensor, nn


@torch.jit.script
def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    power = torch.mean(x * x, dim=[-1], keepdim=True)
    return gain * (x / (power + eps).sqrt())


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.weight = self.g = nn.Parameter(torch.ones(d_model))
        self.eps = float(eps)

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.g, self.eps)
