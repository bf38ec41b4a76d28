# layer_norm: right
# Variables of the environment take what names mean.
# %%
import torch
from torch import nn
import os
size = 5
%env WIDTH={size}
%env DEPTH=$size
%env BOTH {size + 1} times
# %% layer_norm
assert [os.environ[name] for name in ("WIDTH", "DEPTH", "BOTH")] == ["5", "5", "6 times"]
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias
# %% layer_norm-points
