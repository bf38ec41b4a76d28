"""Computes in float32 throughout and gives back the dtype that came."""

import math

import torch
from torch import nn

from exercises.rope import apply_rotary


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError
        self.n, self.m = n_heads, n_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model // n_heads * n_kv_heads, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, angles=None, mask=None, cache=None):
        q = self.q_proj(x).unflatten(2, (self.n, -1)).transpose(1, 2)
        k = self.k_proj(x).unflatten(2, (self.m, -1)).transpose(1, 2)
        v = self.v_proj(x).unflatten(2, (self.m, -1)).transpose(1, 2)
        if angles is not None:
            q, k = apply_rotary(q, angles), apply_rotary(k, angles)
        if cache is not None:
            k, v = cache.append(k, v)
        index = torch.arange(self.n).floor_divide(self.n // self.m)
        k, v = k.index_select(1, index), v.index_select(1, index)
        scores = q.float() @ k.float().transpose(2, 3) / math.sqrt(q.size(3))
        if mask is not None:
            scores.masked_fill_(mask == 0, -1e30)
        out = torch.softmax(scores, 3) @ v.float()
        return self.out_proj(out.to(x.dtype).transpose(1, 2).reshape(x.size(0), x.size(1), -1))
