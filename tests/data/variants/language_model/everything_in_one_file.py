"""All parts written anew: rotation by complex numbers, norm, gate and attention of its own."""

import math

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, dim, heads, kv):
        super().__init__()
        if dim % heads or heads % kv:
            raise ValueError("heads")
        self.h, self.kv, self.d = heads, kv, dim // heads
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, self.d * kv, bias=False)
        self.v_proj = nn.Linear(dim, self.d * kv, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)

    def rotate(self, x, angles):
        a, b = x[..., ::2], x[..., 1::2]
        c, s = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        out = torch.empty_like(x)
        out[..., ::2] = a * c - b * s
        out[..., 1::2] = a * s + b * c
        return out

    def forward(self, x, angles, mask, cache):
        b, t, c = x.shape
        q = self.q_proj(x).view(b, t, self.h, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.kv, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.kv, self.d).transpose(1, 2)
        if angles is not None:
            q, k = self.rotate(q, angles), self.rotate(k, angles)
        if cache is not None:
            k, v = cache.append(k, v)
        q = q.reshape(b, self.kv, self.h // self.kv, t, self.d)
        att = q @ k.unsqueeze(2).transpose(-1, -2) / math.sqrt(self.d)
        if mask is not None:
            att = att.masked_fill(~mask.reshape(mask.shape[-2:]), -1e9)
        y = att.softmax(-1) @ v.unsqueeze(2)
        return self.out_proj(y.flatten(1, 2).transpose(1, 2).reshape(b, t, c))


class Gated(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        g = self.gate_proj(x)
        return self.down_proj(g / (1 + torch.exp(-g)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, d_ff, eps=1e-6):
        super().__init__()
        self.attn_norm = Norm(d_model, eps)
        self.attn = Attention(d_model, n_heads, n_kv_heads)
        self.ffn_norm = Norm(d_model, eps)
        self.ffn = Gated(d_model, d_ff)

    def forward(self, x, angles=None, mask=None, cache=None):
        x = x + self.attn(self.attn_norm(x), angles, mask, cache)
        return x + self.ffn(self.ffn_norm(x))


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_kv_heads, num_layers, d_ff, max_len=2048, base=10000, eps=1e-6, tie_weights=False):
        super().__init__()
        self.max_len, self.base, self.d_head = max_len, base, d_model // n_heads
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(Block(d_model, n_heads, n_kv_heads, d_ff, eps))
        self.norm = Norm(d_model, eps)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.lm_head.weight = self.embedding.weight

    def forward(self, ids, caches=None):
        t = ids.size(1)
        past = caches[0].length if caches else 0
        assert past + t <= self.max_len, "too long"
        pos = torch.arange(past, past + t, dtype=torch.float64)
        inv = self.base ** (-torch.arange(0, self.d_head, 2, dtype=torch.float64) / self.d_head)
        mask = torch.arange(past + t)[None, :] <= pos[:, None]
        x = self.embedding(ids)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks)):
            x = block(x, pos.outer(inv), mask, cache)
        return self.lm_head(self.norm(x))
