"""Softmax by hand: take off the maximum, exponentiate, zero, renormalise."""

import math

from torch import Tensor


def attention(query: Tensor, key: Tensor, value: Tensor, mask=None, dropout=None):
    scores = query.matmul(key.swapaxes(-1, -2)).div(math.sqrt(key.shape[-1]))
    if mask is not None:
        keep = mask.to(scores.dtype)
        top = (scores * keep - 1e30 * (1 - keep)).amax(dim=-1, keepdim=True)
        top = top.clamp(min=-1e29)
        e = ((scores - top).clamp(max=0.0)).exp() * keep
    else:
        e = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    total = e.sum(dim=-1, keepdim=True)
    weights = e / total.clamp_min(1e-30)
    if dropout:
        weights = dropout(weights)
    return weights @ value, weights
