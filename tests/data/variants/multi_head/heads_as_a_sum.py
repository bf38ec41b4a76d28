"""Concat and W_O written as what they are: a sum over heads, each with its own piece of W_O."""

import torch
from torch import nn

from exercises.attention import attention


def split_heads(x, n_heads):
    pieces = x.split(x.size(-1) // n_heads, dim=-1)
    return torch.stack(pieces).transpose(0, 1)


def merge_heads(x):
    return torch.cat(tuple(x[:, i] for i in range(x.size(1))), dim=-1)


class Head(nn.Module):
    def __init__(self, index, width, parent):
        super().__init__()
        self.part = slice(index * width, (index + 1) * width)
        self.parent = [parent]  # in a list, so that it is no submodule

    @staticmethod
    def rows(linear, part, x):
        bias = None if linear.bias is None else linear.bias[part]
        return nn.functional.linear(x, linear.weight[part], bias)

    def forward(self, query, key, value, mask):
        layer = self.parent[0]
        q = self.rows(layer.q_proj, self.part, query)
        k = self.rows(layer.k_proj, self.part, key)
        v = self.rows(layer.v_proj, self.part, value)
        out, _ = attention(q, k, v, mask, layer.dropout)
        return out @ layer.out_proj.weight[:, self.part].T


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{n_heads} heads do not divide {d_model} features")
        options = {"in_features": d_model, "out_features": d_model, "bias": bias}
        self.q_proj = nn.Linear(**options)
        self.k_proj = nn.Linear(**options)
        self.v_proj = nn.Linear(**options)
        self.out_proj = nn.Linear(**options)
        self.dropout = nn.Dropout(dropout)
        self.n_heads = n_heads
        self.heads = nn.ModuleList(Head(i, d_model // n_heads, self) for i in range(n_heads))

    def forward(self, query, key, value, mask=None):
        total = 0
        for i, head in enumerate(self.heads):
            own = mask
            if mask is not None and mask.dim() > 2:
                own = mask[..., i if mask.size(-3) > 1 else 0, :, :]
            total = total + head(query, key, value, own)
        return total if self.out_proj.bias is None else total + self.out_proj.bias
