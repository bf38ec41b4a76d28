# layer_norm: right
# A script is run with arguments, and once not as the main one.
# %%
%%writefile options.py
import sys
given = sys.argv[1:]
main = __name__
# %%
import torch
from torch import nn
%run options.py one two
first = given, main
%run -n options.py
# %% layer_norm
assert first == (["one", "two"], "__main__")
assert main == "options"
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
