"""Sizes in a dataclass, einops, the heads of the queries ordered as (group, kv) and back."""

from dataclasses import dataclass

import torch
from einops import rearrange, repeat
from torch import nn

from exercises.attention import attention
from exercises.rope import apply_rotary


@dataclass
class Config:
    d_model: int
    n_heads: int
    n_kv_heads: int

    def __post_init__(self):
        if self.d_model % self.n_heads or self.n_heads % self.n_kv_heads:
            raise ValueError(self)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        self.config = Config(d_model, n_heads, n_kv_heads)
        kv = d_model // n_heads * n_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, kv, bias=bias)
        self.v_proj = nn.Linear(d_model, kv, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, angles=None, mask=None, cache=None):
        c = self.config
        q = rearrange(self.q_proj(x), "b l (h d) -> b h l d", h=c.n_heads)
        k = rearrange(self.k_proj(x), "b l (h d) -> b h l d", h=c.n_kv_heads)
        v = rearrange(self.v_proj(x), "b l (h d) -> b h l d", h=c.n_kv_heads)
        if angles is not None:
            both = apply_rotary(torch.cat((q, k), 1), angles)
            q, k = both.split((c.n_heads, c.n_kv_heads), 1)
        if cache is not None:
            k, v = cache.append(k, v)
        k, v = (repeat(t, "b h l d -> b (h g) l d", g=c.n_heads // c.n_kv_heads) for t in (k, v))
        return self.out_proj(rearrange(attention(q, k, v, mask)[0], "b h l d -> b l (h d)"))
