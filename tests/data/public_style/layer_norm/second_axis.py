import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1)[:, None]
        var = (centred**2).mean(-1)[:, None]
        return centred / (var + self.eps).sqrt() * self.weight + self.bias
