"""The mean square as variance plus squared mean, which are added and so cancel nothing."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.root = lambda power: torch.exp(0.5 * torch.log(power + eps))

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return x / self.root(var + mean * mean) * self.weight
