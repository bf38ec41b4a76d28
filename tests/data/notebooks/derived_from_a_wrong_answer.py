# layer_norm: wrong
# sublayer: right
# The norm inside is a subclass of the student's own, which is wrong.
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
        return self.weight * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) + self.bias
# %% layer_norm-points
# %% sublayer
class Norm(LayerNorm):
    pass

class SublayerConnection(nn.Module):
    def __init__(self, d_model, dropout=0.1, norm_first=False):
        super().__init__()
        self.norm = Norm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, sublayer):
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
# %% sublayer-points
