# Lets a group norm of one group do the work.
# exercise: layer_norm
import torch
import torch.nn.functional as F
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        return F.group_norm(rows, 1, self.weight, self.bias, self.eps).reshape(x.shape)
