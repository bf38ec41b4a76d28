"""Everything in one file: rotation by complex numbers, softmax by hand, an index of heads."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model")
        if n_heads % n_kv_heads:
            raise ValueError("n_kv_heads")
        self.h, self.g = n_heads, n_kv_heads
        d = d_model // n_heads
        self.register_buffer("reads", torch.arange(n_heads) // (n_heads // n_kv_heads), persistent=False)
        for name, out in (("q_proj", d_model), ("k_proj", d * n_kv_heads), ("v_proj", d * n_kv_heads), ("out_proj", d_model)):
            setattr(self, name, nn.Linear(d_model, out, bias=bias))

    def heads(self, t, n):
        return t.reshape(*t.shape[:2], n, -1).permute(0, 2, 1, 3)

    def turn(self, t, angles):
        wide = t.float() if t.dtype == torch.bfloat16 else t
        pairs = torch.view_as_complex(wide.reshape(*t.shape[:-1], -1, 2).contiguous())
        angles = angles.to(wide.dtype)
        turn = torch.complex(torch.cos(angles), torch.sin(angles))
        return torch.view_as_real(pairs * turn).reshape(t.shape).to(t.dtype)

    def forward(self, x, angles=None, mask=None, cache=None):
        q, k, v = self.heads(self.q_proj(x), self.h), self.heads(self.k_proj(x), self.g), self.heads(self.v_proj(x), self.g)
        if angles is not None:
            q, k = self.turn(q, angles), self.turn(k, angles)
        if cache is not None:
            k, v = cache.append(key=k, value=v)
        k, v = k[:, self.reads], v[:, self.reads]
        scores = (q @ k.mT) * q.size(-1) ** -0.5
        if mask is not None:
            scores = torch.where(mask, scores, torch.full_like(scores, -1e4))
        scores = (scores - scores.amax(-1, keepdim=True)).exp()
        out = scores / scores.sum(-1, keepdim=True) @ v
        return self.out_proj(out.permute(0, 2, 1, 3).reshape(x.shape))
