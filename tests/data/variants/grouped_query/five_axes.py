"""Queries get an axis of groups, and nothing is repeated; einsum."""

import math

import torch
from torch import nn

from exercises.rope import apply_rotary


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        assert d_model % n_heads == 0
        assert n_heads % n_kv_heads == 0
        self.kv, self.group, self.d = n_kv_heads, n_heads // n_kv_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias)
        self.k_proj = nn.Linear(d_model, self.kv * self.d, bias)
        self.v_proj = nn.Linear(d_model, self.kv * self.d, bias)
        self.out_proj = nn.Linear(d_model, d_model, bias)

    def forward(self, x, angles=None, mask=None, cache=None):
        B, L, D = x.shape
        q = self.q_proj(x).view(B, L, self.kv, self.group, self.d).permute(0, 2, 3, 1, 4)
        k = self.k_proj(x).view(B, L, self.kv, self.d).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.kv, self.d).transpose(1, 2)
        if angles is not None:
            q, k = apply_rotary(q, angles), apply_rotary(k, angles)
        if cache is not None:
            k, v = cache.append(k, v)
        s = torch.einsum("bhgqd,bhkd->bhgqk", q, k) / math.sqrt(self.d)
        if mask is not None:
            m = mask.broadcast_to(B, self.kv * self.group, L, k.size(2)).unflatten(1, (self.kv, self.group))
            s = s.masked_fill(~m, -1e9)
        o = torch.einsum("bhgqk,bhkd->bqhgd", s.softmax(-1), v)
        return self.out_proj(o.reshape(B, L, D))
