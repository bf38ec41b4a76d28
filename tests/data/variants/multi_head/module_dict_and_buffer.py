"""The maps live in a ModuleDict, the scale is a buffer, the mask is added as numbers."""

import torch
from torch import nn
import torch.nn.functional as F
def split_heads(x, n_heads): return x.view(*x.shape[:2], n_heads, -1).transpose(1, 2)
def merge_heads(x): return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        self.d_k, rest = divmod(d_model, n_heads)
        if rest: raise ValueError("nope")
        self.h = n_heads
        self.proj = nn.ModuleDict({n: nn.Linear(d_model, d_model, bias=bias) for n in ("q", "k", "v", "o")})
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = self.proj["q"], self.proj["k"], self.proj["v"], self.proj["o"]
        self.register_buffer("scale", torch.tensor(self.d_k ** -0.5))
        self.dropout = dropout
    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        q = split_heads(self.q_proj(query), self.h) * self.scale
        k = split_heads(self.k_proj(key), self.h)
        v = split_heads(self.v_proj(value), self.h)
        s = q @ k.transpose(-2, -1)
        if mask is not None:
            bias = torch.zeros_like(s).masked_fill(~mask, torch.finfo(s.dtype).min)
            s = (s + bias).clamp(min=torch.finfo(s.dtype).min)
        a = F.dropout(F.softmax(s, -1), self.dropout, self.training)
        return self.out_proj(merge_heads(a @ v))
