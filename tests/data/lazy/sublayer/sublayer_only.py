"""Nothing but the sublayer."""

import torch
from torch import nn

from exercises.layer_norm import LayerNorm


class SublayerConnection(nn.Module):
    def __init__(self, d_model, dropout=0.1, norm_first=False):
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, sublayer):
        return sublayer(x)
