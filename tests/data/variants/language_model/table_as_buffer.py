"""Angles in a buffer as long as max_len, one mask as long, both cut; tie through a property-free alias."""

import torch
from torch import nn

from exercises.grouped_query import GroupedQueryAttention
from exercises.rms_norm import RMSNorm
from exercises.rope import rotary_angles
from exercises.swiglu import SwiGLU


class Block(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, d_ff, eps=1e-6):
        super().__init__()
        self.attn_norm, self.ffn_norm = RMSNorm(d_model, eps), RMSNorm(d_model, eps=eps)
        self.attn = GroupedQueryAttention(d_model, n_heads, n_kv_heads)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x, angles=None, mask=None, cache=None):
        h = x + self.attn(self.attn_norm(x), angles=angles, mask=mask, cache=cache)
        return h + self.ffn(self.ffn_norm(h))


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_kv_heads, num_layers, d_ff, max_len=2048, base=1e4, eps=1e-6, tie_weights=False):
        super().__init__()
        assert d_model % n_heads == 0
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList([Block(d_model, n_heads, n_kv_heads, d_ff, eps) for _ in range(num_layers)])
        self.norm = RMSNorm(d_model, eps)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.embedding.weight = self.lm_head.weight
        self.register_buffer("freqs", rotary_angles(d_model // n_heads, max_len, base))
        self.max_len = max_len

    def forward(self, ids, caches=None):
        B, T = ids.shape
        start = caches[0].length if caches is not None else 0
        if start + T > self.max_len:
            raise ValueError("too long")
        mask = None
        if T > 1:
            mask = torch.full((T, T), True, device=ids.device).tril()
            mask = torch.hstack([torch.ones(T, start, dtype=torch.bool, device=ids.device), mask])
        x = self.embedding(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, self.freqs[start : start + T], mask, caches[i] if caches is not None else None)
        return self.lm_head(self.norm(x))
