# layer_norm: right
# `_i` is the cell above, `In` ends with the one that runs.
# %%
import torch
from torch import nn
# %%
2
# %%
before, last, count = _i, In[-1], len(In)
# %% layer_norm
assert (before, In[2], count) == ("2", "2", 4)
assert last.startswith("before")
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
