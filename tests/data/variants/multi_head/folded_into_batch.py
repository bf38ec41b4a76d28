"""Everything in this one file: heads folded into the batch, bmm, the mask repeated for each."""

import math
from copy import deepcopy

import torch
from torch import nn


def split_heads(x, n_heads):
    b, l, d = x.size()
    return x.contiguous().view(b, l, n_heads, d // n_heads).permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    b, h, l, d = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(b, l, h * d)


def clones(module, n):
    return [deepcopy(module) for _ in range(n)]


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super(MultiHeadAttention, self).__init__()
        if d_model // n_heads * n_heads != d_model:
            raise ValueError(f"{d_model=} {n_heads=}")
        self.num_heads, self.head_dim = n_heads, d_model // n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = clones(
            nn.Linear(d_model, d_model, bias=bias), 4
        )
        self.attn_drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        bsz, tgt_len, embed = query.shape
        src_len = key.shape[1]
        shape = (bsz * self.num_heads, -1, self.head_dim)
        q = split_heads(self.q_proj(query) / math.sqrt(self.head_dim), self.num_heads).view(*shape)
        k = split_heads(self.k_proj(key), self.num_heads).view(*shape)
        v = split_heads(self.v_proj(value), self.num_heads).view(*shape)
        attn = torch.bmm(q, k.transpose(1, 2))
        if mask is not None:
            m = mask.expand(bsz, self.num_heads, tgt_len, src_len)
            attn = attn.view(bsz, self.num_heads, tgt_len, src_len).masked_fill(~m, -1e9)
            attn = attn.view(-1, tgt_len, src_len)
        attn = self.attn_drop(attn.softmax(dim=-1))
        out = torch.bmm(attn, v).view(bsz, self.num_heads, tgt_len, self.head_dim)
        return self.out_proj(merge_heads(out)).view(bsz, tgt_len, embed)
