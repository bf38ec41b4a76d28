"""Never thought of another dtype than float32: the softmax is taken in it and stays in it."""

import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1)
    scores /= query.shape[-1] ** 0.5
    if mask is not None:
        scores.masked_fill_(~mask, -1e9)
    attn = F.softmax(scores, dim=-1, dtype=torch.float32)
    if dropout is not None:
        attn = dropout(attn)
    return attn @ value, attn
