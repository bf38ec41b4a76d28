"""A dataclass of sizes, parts in dictionaries besides their names, a list of caches made by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from exercises.grouped_query import GroupedQueryAttention
from exercises.kv_cache import KVCache, causal_mask_with_past
from exercises.rms_norm import RMSNorm
from exercises.rope import rotary_angles
from exercises.swiglu import SwiGLU


@dataclass(frozen=True)
class Config:
    vocab_size: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    num_layers: int
    d_ff: int
    max_len: int = 2048
    base: float = 10000.0
    eps: float = 1e-6
    tie_weights: bool = False


class Block(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, d_ff: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attn_norm = RMSNorm(d_model, eps)
        self.attn = GroupedQueryAttention(d_model, n_heads, n_kv_heads, bias=False)
        self.ffn_norm = RMSNorm(d_model, eps)
        self.ffn = SwiGLU(d_model, d_ff, bias=False)

    def forward(self, x: Tensor, angles: Tensor | None = None, mask: Tensor | None = None, cache: KVCache | None = None) -> Tensor:
        residual = x
        x = self.attn_norm(x)
        x = self.attn(x, angles, mask, cache)
        x = residual + x
        residual = x
        x = self.ffn_norm(x)
        x = self.ffn(x)
        return torch.add(residual, x)


class LanguageModel(nn.Module):
    def __init__(self, *sizes, **options) -> None:
        super().__init__()
        c = self.c = Config(*sizes, **options)
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.blocks = nn.ModuleList(Block(c.d_model, c.n_heads, c.n_kv_heads, c.d_ff, c.eps) for _ in range(c.num_layers))
        self.norm = RMSNorm(c.d_model, c.eps)
        self.lm_head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        if c.tie_weights:
            self.lm_head.weight = self.embedding.weight

    def forward(self, ids: Tensor, caches: Sequence[KVCache] | None = None) -> Tensor:
        if caches is None:
            caches = [KVCache() for _ in self.blocks]
        past, length = caches[0].length, ids.size(1)
        if past + length > self.c.max_len:
            raise ValueError(f"{past + length} tokens")
        angles = rotary_angles(self.c.d_model // self.c.n_heads, self.c.max_len, self.c.base)
        angles = angles.narrow(0, past, length)
        mask = causal_mask_with_past(length, past, ids.device)
        x = self.embedding(ids)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, angles, mask, cache)
        return self.lm_head(self.norm(x))
