# layer_norm: right
# A demonstration compares the answer with torch's own, which the answer may not use.
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

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps * UNIT) + self.bias
# %%
x = torch.randn(2, 3, 8)
theirs = nn.LayerNorm(8)
wanted = theirs(x)
print(wanted.abs().max().item(), theirs.eps)
assert wanted.shape == x.shape
UNIT = 1
# %% layer_norm-points
