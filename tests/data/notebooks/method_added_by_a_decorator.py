# layer_norm: right
# The decorator of a book that adds a method to a class.
# %%
import torch
from torch import nn
def add_to(kind):
    def wrapper(function):
        setattr(kind, function.__name__, function)
    return wrapper
# %% layer_norm
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps
# %%
@add_to(LayerNorm)
def forward(self, x):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return self.weight * (x - mean) * torch.rsqrt(variance + self.eps) + self.bias
# %% layer_norm-points
