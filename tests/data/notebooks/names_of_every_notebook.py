# layer_norm: right
# Names that a notebook has before its first cell.
# %%
import torch
from torch import nn
# %% layer_norm
assert len(_dh) == 1 and __doc__ and __name__ == "__main__"
assert "__file__" not in globals()
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
