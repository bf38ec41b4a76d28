"""Masks after the softmax, and lets the visible weights sum to one again."""

import torch, math
def attention(query, key, value, mask=None, dropout=None):
    s = torch.softmax(query @ key.transpose(-1,-2) / math.sqrt(query.size(-1)), dim=-1)
    if mask is not None:
        s = s * mask
        s = s / s.sum(-1, keepdim=True).clamp(min=1e-8)
    w = dropout(s) if dropout is not None else s
    return w @ value, w
