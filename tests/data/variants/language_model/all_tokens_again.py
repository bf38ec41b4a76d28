"""Angles counted by each cache before its block runs; a full mask whose last rows are taken."""

import torch
from torch import nn

from exercises.grouped_query import GroupedQueryAttention
from exercises.rms_norm import RMSNorm
from exercises.rope import rotary_angles
from exercises.swiglu import SwiGLU


class Block(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, d_ff, eps=1e-6):
        super().__init__()
        self.attn_norm = RMSNorm(d_model, eps)
        self.ffn_norm = RMSNorm(d_model, eps)
        self.attn = GroupedQueryAttention(d_model, n_heads, n_kv_heads)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x, angles=None, mask=None, cache=None):
        x = x + self.attn(self.attn_norm(x), angles, mask, cache)
        x = x + self.ffn(self.ffn_norm(x))
        return x


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_kv_heads, num_layers, d_ff, max_len=2048, base=10000.0, eps=1e-6, tie_weights=False):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("angles", rotary_angles(d_model // n_heads, max_len, base).float(), persistent=False)
        self.register_buffer("causal", torch.ones(max_len, max_len, dtype=torch.bool).tril(), persistent=False)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads, n_kv_heads, d_ff, eps) for _ in range(num_layers))
        self.norm = RMSNorm(d_model, eps)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            del self.lm_head.weight
            self.lm_head.weight = self.embedding.weight

    def forward(self, ids, caches=None):
        x = self.embedding(ids)
        for i, block in enumerate(self.blocks):
            cache = caches[i] if caches is not None else None
            start = cache.length if cache is not None else 0
            stop = start + ids.size(1)
            if stop > self.max_len:
                raise ValueError("max_len")
            x = block(x, self.angles[start:stop], self.causal[start:stop, :stop], cache)
        return self.lm_head(self.norm(x))
