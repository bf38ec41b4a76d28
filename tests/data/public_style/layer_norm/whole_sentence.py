import torch
import torch.nn as nn
import torch.nn.functional as F
import math



class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean((-2, -1), keepdim=True)
        var = ((x - mean) ** 2).mean((-2, -1), keepdim=True)
        return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias
