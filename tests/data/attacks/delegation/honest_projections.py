# Builds on nn.Linear in one map for all three, and loads weights by name through a hook.
# exercise: multi_head
# expect: full marks
import copy

import torch
from torch import nn

from exercises.attention import attention


def split_heads(x, n_heads):
    batch, length, width = x.shape
    return x.view(batch, length, n_heads, width // n_heads).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


class MultiheadAttention(nn.Module):
    """Has the name of torch's own."""

    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model has to be divisible by n_heads")
        one = nn.Linear(d_model, d_model, bias=bias)
        self.q_proj, self.k_proj = copy.deepcopy(one), nn.Linear(d_model, d_model, bias=bias)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model, bias=bias), one
        self.n_heads = n_heads
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            split_heads(project(x), self.n_heads)
            for project, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        output, self.weights = attention(q, k, v, mask, self.dropout)
        return self.out_proj(merge_heads(output))


class MultiHeadAttention(MultiheadAttention):
    pass
