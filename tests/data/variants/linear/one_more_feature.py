"""The bias is the weight of one more feature, which is always 1."""

import torch
from torch import nn


class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        start = torch.empty(out_features, in_features + 1).uniform_(-1, 1) / in_features**0.5
        self.weight = nn.Parameter(start[:, :-1].clone())
        self.bias = nn.Parameter(start[:, -1].clone()) if bias else None

    def forward(self, x):
        weight = self.weight
        if self.bias is not None:
            weight = torch.cat((weight, self.bias[:, None]), dim=1)
            x = torch.cat((x, torch.ones_like(x[..., :1])), dim=-1)
        return torch.tensordot(x, weight, dims=([-1], [1]))
