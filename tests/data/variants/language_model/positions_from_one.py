"""Positions are counted from 1, which changes no distance; logits by a product with the weight."""

import torch
from torch import nn

from exercises.grouped_query import GroupedQueryAttention
from exercises.kv_cache import causal_mask_with_past
from exercises.rms_norm import RMSNorm
from exercises.rope import rotary_angles
from exercises.swiglu import SwiGLU


class Block(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, d_ff: int, eps: float = 1e-6):
        super().__init__()
        self.attn = GroupedQueryAttention(d_model, n_heads, n_kv_heads)
        self.ffn = SwiGLU(d_model, d_ff)
        self.attn_norm = RMSNorm(d_model, eps)
        self.ffn_norm = RMSNorm(d_model, eps)

    def forward(self, x, angles=None, mask=None, cache=None):
        for norm, layer, rest in ((self.attn_norm, self.attn, (angles, mask, cache)), (self.ffn_norm, self.ffn, ())):
            x = layer(norm(x), *rest) + x
        return x


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_kv_heads, num_layers, d_ff, max_len=2048, base=10000.0, eps=1e-6, tie_weights=False):
        super().__init__()
        self.config = dict(head_dim=d_model // n_heads, base=base)
        self.max_len = max_len
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.Sequential(*(Block(d_model, n_heads, n_kv_heads, d_ff, eps) for _ in range(num_layers)))
        self.norm = RMSNorm(d_model, eps)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.lm_head.weight = self.embedding.weight

    def forward(self, ids, caches=None):
        past = int(caches[0].length) if caches else 0
        end = past + ids.shape[-1]
        if end > self.max_len:
            raise ValueError(f"{end} > {self.max_len}")
        angles = rotary_angles(length=end + 1, **self.config)[past + 1 :]
        mask = causal_mask_with_past(ids.shape[-1], past)
        x = self.embedding.weight[ids]
        for i in range(len(self.blocks)):
            x = self.blocks[i](x, angles, mask, caches[i] if caches else None)
        return torch.einsum("bld,vd->blv", self.norm(x), self.lm_head.weight)
