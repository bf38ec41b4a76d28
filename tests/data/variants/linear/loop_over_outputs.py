"""One output after the other, each a weighted sum."""

import torch
from torch import nn


class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super(Linear, self).__init__()
        k = 1 / in_features**0.5
        self.weight = nn.Parameter((2 * torch.rand(out_features, in_features) - 1) * k)
        self.bias = nn.Parameter((2 * torch.rand(out_features) - 1) * k) if bias else None

    def forward(self, x):
        columns = []
        for o, row in enumerate(self.weight):
            column = (x * row).sum(dim=-1)
            if self.bias is not None:
                column = column + self.bias[o]
            columns.append(column)
        return torch.stack(columns, dim=-1)
