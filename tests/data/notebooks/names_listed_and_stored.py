# layer_norm: right
# `%who_ls` lists names, `%store` keeps them.
# %%
import torch
from torch import nn
two = 2
names = %who_ls
numbers = %who_ls int
%store two
del two
%store -r two
# %% layer_norm
assert {"torch", "nn", "two"} <= set(names) and "two" in numbers and two == 2
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
