# layer_norm: right
# Magics are methods of a class that is registered.
# %%
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
@magics_class
class Mine(Magics):
    @line_magic
    def hello(self, line):
        return "hello " + line
    @cell_magic("only_if")
    def conditionally(self, line, cell):
        if eval(line):
            self.shell.run_cell(cell)
get_ipython().register_magics(Mine)
# %%
x = %hello you
# %%
%%only_if 1 > 2
1 / 0
# %%
import torch
from torch import nn
# %% layer_norm
%%only_if x == "hello you"
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
