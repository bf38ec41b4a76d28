"""A function compiled with torch.jit.script; the parameters under second names as well."""

import torch
from torch import Tensor, nn


@torch.jit.script
def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    mean = x.mean(dim=[-1], keepdim=True)
    diff = x - mean
    var = torch.mean(diff * diff, dim=[-1], keepdim=True)
    return gamma * (diff / (var + eps).sqrt()) + beta


class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.weight = self.gamma = nn.Parameter(torch.ones(d_model))
        self.bias = self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = float(eps)

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.gamma, self.beta, self.eps)
