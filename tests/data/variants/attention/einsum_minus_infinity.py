"""einsum with an ellipsis, minus infinity, and NaN put right after the softmax."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    scale = query.shape[-1] ** -0.5
    logits = torch.einsum("...qd,...kd->...qk", query * scale, key)
    if mask is not None:
        logits = torch.where(mask, logits, -torch.inf)
    weights = torch.softmax(logits, -1)
    if mask is not None:
        weights = torch.where(mask, weights, 0.0)
    dropped = weights if dropout is None else dropout(weights)
    return torch.einsum("...qk,...kd->...qd", dropped, value), weights
