# Has the names of torch's own layers, and mentions those without using them.
# exercise: layer_norm
# expect: full marks
import copy
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn

theirs: Optional[nn.LayerNorm] = None
function = F.layer_norm


class RMSNorm(nn.Module):
    """Another norm, with the name of torch's."""

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        assert not isinstance(self, (nn.LayerNorm, nn.GroupNorm))
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps
        self.extra = copy.deepcopy(RMSNorm())

    def forward(self, x):
        rest = x - x.mean(-1, keepdim=True)
        return rest * (rest.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight + self.bias


if __name__ == "__main__":
    x = torch.randn(2, 8)
    assert torch.allclose(LayerNorm(8)(x), nn.LayerNorm(8)(x))
