"""The mean is taken off by a matrix product, the length by vector_norm; lambda; print."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones((d_model,)))
        self.bias = nn.Parameter(torch.zeros((d_model,)))
        self.register_buffer("centre", torch.eye(d_model) - 1 / d_model, persistent=False)
        self.root = lambda v: torch.exp(0.5 * torch.log(v + eps))
        print("LayerNorm", d_model)

    def forward(self, x):
        c = x @ self.centre
        length = torch.linalg.vector_norm(c, dim=-1, keepdim=True)
        c = c / self.root(length**2 / x.size(-1))
        c = c * self.weight
        c += self.bias
        return c
