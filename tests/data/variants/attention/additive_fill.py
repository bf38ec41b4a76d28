"""The mask is added as numbers, 0 and -10000, as BERT does it; the weights are scaled last."""

import torch
from torch.nn import functional as F


def attention(query, key, value, mask=None, dropout=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key)
    scores = scores * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -10000.0
    weights = F.softmax(scores, -1)
    dropped = weights if dropout is None else dropout(weights)
    return dropped @ value, weights
