# Takes the normalised numbers from the decomposed gradient of a batch norm.
# exercise: layer_norm
import torch
import torch._decomp
from torch import nn

kept = torch._decomp.decomposition_table[torch.ops.aten.native_batch_norm_backward.default]
for _ in range(9):
    kept = getattr(kept, "__wrapped__", kept)
only = [False, True, False]


def normalised(row, mean, scale, eps):
    count = len(row)
    ones, mean, scale = torch.ones_like(row)[None], mean.expand(count), scale.expand(count)
    return kept(ones, row[None], None, None, None, mean, scale, True, eps, only)[1]


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        means = rows.mean(-1)
        scales = (rows.var(-1, correction=0) + self.eps).rsqrt()
        out = [normalised(*each, self.eps) for each in zip(rows, means, scales)]
        return torch.stack(out).reshape(x.shape) * self.weight + self.bias
