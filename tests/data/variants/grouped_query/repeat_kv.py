"""Llama's repeat_kv by expand and reshape, on (B, L, H, d); a fill of -inf whose NaNs become zeros."""

import torch
import torch.nn.functional as F
from torch import nn

from exercises.rope import apply_rotary


def repeat_kv(x, n_rep):
    b, h, l, d = x.shape
    if n_rep == 1:
        return x
    return x[:, :, None].expand(b, h, n_rep, l, d).reshape(b, h * n_rep, l, d)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError("sizes")
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.head_dim = d_model // n_heads
        self.out_proj = nn.Linear(n_heads * self.head_dim, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.q_proj = nn.Linear(d_model, n_heads * self.head_dim, bias=bias)

    def forward(self, x, angles=None, mask=None, cache=None):
        bsz, seqlen, _ = x.shape
        xq, xk, xv = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        xq = xq.view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = xk.view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = xv.view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        if angles is not None:
            xq = torch.stack([apply_rotary(xq[:, :, h], angles) for h in range(self.n_heads)], 2)
            xk = torch.stack([apply_rotary(xk[:, :, h], angles) for h in range(self.n_kv_heads)], 2)
        xq, xk, xv = (t.transpose(1, 2) for t in (xq, xk, xv))
        if cache is not None:
            xk, xv = cache.append(xk.contiguous(), xv.contiguous())
        keys = repeat_kv(xk, self.n_heads // self.n_kv_heads)
        values = repeat_kv(xv, self.n_heads // self.n_kv_heads)
        scores = torch.matmul(xq * self.head_dim**-0.5, keys.transpose(2, 3))
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        probs = torch.nan_to_num(F.softmax(scores, dim=-1))
        output = torch.matmul(probs, values)
        return self.out_proj(output.transpose(1, 2).contiguous().view(bsz, seqlen, -1))
