# layer_norm: right
# Folders are changed to and left, some by names in braces or behind a dollar.
# %%
import torch
from torch import nn
import os
here = os.getcwd()
os.makedirs("deep", exist_ok=True)
folder = "deep"
%cd $folder
%cd -
back = os.getcwd()
%pushd {folder}
deep = os.getcwd()
%popd
# %% layer_norm
assert back == here == os.getcwd()
assert deep == os.path.join(here, "deep")
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
