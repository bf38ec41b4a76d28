"""One product for queries, keys and values; groups folded into the length, so keys are read once."""

import torch
import torch.nn.functional as F
from torch import nn

from exercises.rope import apply_rotary


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if d_model % n_heads != 0 or n_heads % n_kv_heads != 0:
            raise ValueError("cannot be divided")
        self.sizes = (d_model, n_kv_heads * (d_model // n_heads), n_kv_heads * (d_model // n_heads))
        self.n_heads, self.n_kv = n_heads, n_kv_heads
        self.q_proj = nn.Linear(d_model, self.sizes[0], bias=bias)
        self.k_proj = nn.Linear(d_model, self.sizes[1], bias=bias)
        self.v_proj = nn.Linear(d_model, self.sizes[2], bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.last_weights = None

    def forward(self, x, angles=None, mask=None, cache=None):
        maps = (self.q_proj, self.k_proj, self.v_proj)
        bias = None if maps[0].bias is None else torch.cat([m.bias for m in maps])
        q, k, v = F.linear(x, torch.cat([m.weight for m in maps]), bias).split(self.sizes, -1)
        batch, length, _ = x.shape
        q = q.reshape(batch, length, self.n_heads, -1).transpose(1, 2)
        k = k.reshape(batch, length, self.n_kv, -1).transpose(1, 2)
        v = v.reshape(batch, length, self.n_kv, -1).transpose(1, 2)
        if angles is not None:
            q, k = (apply_rotary(t, angles) for t in (q, k))
        if cache is not None:
            k, v = cache.append(k, v)
        group = self.n_heads // self.n_kv
        q = q.reshape(batch, self.n_kv, group * length, -1)
        scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        if mask is not None:
            full = mask.expand(batch, self.n_heads, length, k.size(2)).reshape(scores.shape)
            scores = scores + torch.zeros_like(scores).masked_fill(~full, torch.finfo(x.dtype).min / 2)
        self.last_weights = scores.softmax(-1).detach()
        out = (scores.softmax(-1) @ v).reshape(batch, self.n_heads, length, -1)
        return self.out_proj(out.transpose(1, 2).flatten(2))
