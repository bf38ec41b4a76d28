"""Everybody takes the average of the visible values, with dropout."""

import torch
from torch import nn

def split_heads(x, n_heads):
    return torch.zeros(x.size(0), n_heads, x.size(1), x.size(2) // n_heads)


def merge_heads(x):
    return x.mean(1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError
        self.q_proj = nn.Linear(d_model, d_model, bias)
        self.k_proj = nn.Linear(d_model, d_model, bias)
        self.v_proj = nn.Linear(d_model, d_model, bias)
        self.out_proj = nn.Linear(d_model, d_model, bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        shape = (query.size(0), 1, query.size(1), key.size(1))
        visible = torch.ones(shape, dtype=value.dtype)
        if mask is not None:
            visible = (visible * mask)[:, :1]
        weights = self.dropout(visible / visible.sum(-1, keepdim=True).clamp_min(1))
        return self.out_proj(weights[:, 0] @ self.v_proj(value)) + 0 * self.q_proj(query)
