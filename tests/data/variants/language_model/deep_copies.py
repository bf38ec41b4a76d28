"""Blocks are copies of one, drawn anew; the model's steps in methods; a scaled initialisation."""

import copy

import torch
from torch import nn

from exercises.grouped_query import GroupedQueryAttention
from exercises.kv_cache import causal_mask_with_past
from exercises.rms_norm import RMSNorm
from exercises.rope import rotary_angles
from exercises.swiglu import SwiGLU


class Block(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, d_ff, eps=0.000001):
        super().__init__()
        self.attn = GroupedQueryAttention(d_model, n_heads, n_kv_heads)
        self.attn_norm = RMSNorm(d_model, eps)
        self.ffn = SwiGLU(d_model, d_ff)
        self.ffn_norm = copy.deepcopy(self.attn_norm)

    def forward(self, x, angles=None, mask=None, cache=None):
        return self._think(self._listen(x, angles, mask, cache))

    def _listen(self, x, *rest):
        return x + self.attn(self.attn_norm(x), *rest)

    def _think(self, x):
        return x + self.ffn(self.ffn_norm(x))


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_kv_heads, num_layers, d_ff, max_len=2048, base=10000.0, eps=1e-6, tie_weights=False):
        super().__init__()
        self.head_dim, self.max_len, self.base = d_model // n_heads, max_len, base
        block = Block(d_model, n_heads, n_kv_heads, d_ff, eps)
        self.blocks = nn.ModuleList(copy.deepcopy(block) for _ in range(num_layers))
        self.norm = RMSNorm(d_model, eps)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.apply(self._init)
        if tie_weights:
            self.lm_head.weight = self.embedding.weight

    def _init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids, caches=None):
        past = 0 if not caches else caches[0].length
        if ids.size(1) > self.max_len - past:
            raise ValueError("no room")
        angles = rotary_angles(self.head_dim, past + ids.size(1), self.base)[-ids.size(1) :]
        mask = causal_mask_with_past(ids.size(1), past, device=ids.device)
        x = self.embedding(ids)
        if caches:
            for block, cache in zip(self.blocks, caches):
                x = block(x, angles, mask, cache)
        else:
            for block in self.blocks:
                x = block(x, angles, mask)
        return self.lm_head(self.norm(x))
