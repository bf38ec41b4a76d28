"""Every query takes the same share of each key it may see; no scores are computed."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError("sizes")
        self.d_head, self.group, self.n_heads = d_model // n_heads, n_heads // n_kv_heads, n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.d_head, bias=bias)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.d_head, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, angles=None, mask=None, cache=None):
        key, value = (
            one(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2)
            for one in (self.k_proj, self.v_proj)
        )
        if cache is not None:
            key, value = cache.append(key, value)
        value = value.repeat_interleave(self.group, 1)
        shape = (x.size(0), self.n_heads, x.size(1), value.size(2))
        weights = torch.ones(shape).to(x) if mask is None else mask.expand(shape).to(x)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
        return self.out_proj((weights @ value).transpose(1, 2).flatten(2))
