# layer_norm: right
# A function is called before each cell that follows.
# %%
import torch
from torch import nn
calls = []
get_ipython().events.register("pre_run_cell", lambda *_: calls.append(1))
# %%
x = 1
# %% layer_norm
assert len(calls) == 2
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
