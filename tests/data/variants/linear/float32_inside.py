"""Multiplies in float32 and casts back to the dtype of the input; matvec by broadcasting."""

import torch
from torch import nn


class Linear(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        a = (1.0 / in_features) ** 0.5
        self.weight = nn.Parameter(torch.FloatTensor(out_features, in_features).uniform_(-a, a))
        self.bias = None
        if bias:
            self.bias = nn.Parameter(torch.FloatTensor(out_features).uniform_(-a, a))

    def forward(self, x):
        output = torch.matmul(self.weight.float(), x.float().unsqueeze(-1)).squeeze(-1)
        if self.bias is not None:
            output = output + self.bias.float()
        return output.type_as(x)
