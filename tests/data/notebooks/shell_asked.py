# layer_norm: right
# What a notebook asks of `get_ipython()`.
# %%
import torch
from torch import nn
shell = get_ipython()
shell.user_ns["three"] = 3
shell.push({"five": 5})
shell.ex("six = 6")
shell.run_cell("four = 4")
shell.run_cell("1 / 0")
seven = shell.ev("three + four")
shell.display_formatter.formatters["text/plain"].for_type(int, lambda n, p, cycle: p.text(str(n)))
# %% layer_norm
assert (three, four, five, six, seven) == (3, 4, 5, 6, 7)
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
