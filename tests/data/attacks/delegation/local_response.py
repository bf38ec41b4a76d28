# Lets a response norm over twice as many channels as there are divide by the deviation.
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
        count = x.shape[-1]
        rows = (x - x.mean(-1, keepdim=True)).reshape(-1, count, 1)
        size = 2 * count
        out = F.local_response_norm(rows, size, alpha=2.0, beta=0.5, k=self.eps)
        return out.reshape(x.shape) * self.weight + self.bias
