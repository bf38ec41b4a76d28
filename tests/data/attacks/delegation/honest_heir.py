# Is a subclass of torch's layer, and writes every method of it anew.
# exercise: layer_norm
# expect: full marks
import torch
from torch import nn


class LayerNorm(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        nn.Module.__init__(self)
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        rest = x - x.mean(-1, keepdim=True)
        return rest * (rest.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight + self.bias
