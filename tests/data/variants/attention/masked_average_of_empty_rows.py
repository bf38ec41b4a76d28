"""Rows that see nothing are found beforehand and get the weight zero throughout."""

import torch
from torch.nn import functional


def attention(query, key, value, mask=None, dropout=None, *, return_logits=False, **unused):
    scale = 1.0 / (query.size(-1) ** 0.5)
    logits = (query @ torch.transpose(key, -1, -2)).mul(scale)
    empty = None
    if mask is not None:
        mask = torch.broadcast_to(mask, logits.shape)
        empty = ~mask.any(dim=-1, keepdim=True)
        safe = mask | empty
        logits = logits.masked_fill(~safe, float("-inf"))
    weights = functional.softmax(logits, dim=logits.dim() - 1)
    if empty is not None:
        weights = weights.masked_fill(empty, 0)
    after = weights.clone()
    if dropout is not None:
        after = dropout(after)
    out = after @ value
    return (out, weights, logits) if return_logits else (out, weights)
