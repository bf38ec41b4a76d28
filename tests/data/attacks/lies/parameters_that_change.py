# Shows other parameters each time it is asked.
# exercise: layer_norm
import random

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def named_parameters(self, *args, **kwargs):
        size = random.randrange(1, 9)
        yield f"{'weight' * size}\x1b[31m", nn.Parameter(torch.ones(size))
        yield object(), "no tensor"

    def forward(self, x):
        return x
