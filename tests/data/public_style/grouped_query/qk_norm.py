import torch
import torch.nn.functional as F
from torch import nn

from exercises.rope import apply_rotary


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError("sizes")
        self.h, self.kv, self.hd = n_heads, n_kv_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.hd, bias=bias)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.hd, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def norm(self, t):
        return F.rms_norm(t, (t.size(-1),))

    def forward(self, x, angles=None, mask=None, cache=None):
        b, n, _ = x.size()
        q = self.q_proj(x).view(b, n, self.h, self.hd).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.kv, self.hd).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.kv, self.hd).transpose(1, 2)
        if angles is not None:
            q, k = apply_rotary(q, angles), apply_rotary(k, angles)
        q, k = self.norm(q), self.norm(k)
        if cache is not None:
            k, v = cache.append(k, v)
        k = k.repeat_interleave(self.h // self.kv, dim=1)
        v = v.repeat_interleave(self.h // self.kv, dim=1)
        att = q @ k.transpose(-2, -1) / self.hd**0.5
        if mask is not None:
            att = att.masked_fill(mask == 0, torch.finfo(att.dtype).min)
        y = F.softmax(att, dim=-1) @ v
        return self.out_proj(y.transpose(1, 2).reshape(b, n, -1))
