import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def norm(self, x):
        return torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self.norm(x) * self.weight
