# layer_norm: right
# The class gets its forward from an assignment in a later cell.
# %%
import torch
from torch import nn
# %% layer_norm
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps
# %%
def forward(self, x):
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, keepdim=True, unbiased=False)
    return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
LayerNorm.forward = forward
# %% layer_norm-points
