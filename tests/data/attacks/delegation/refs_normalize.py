# Calls the Python function behind torch's reference implementation of layer norm.
# exercise: layer_norm
import torch
import torch._refs
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        out = torch._refs._normalize(x, [x.dim() - 1], self.eps)[0]
        return (out * self.weight + self.bias).to(x.dtype)
