"""All weight goes to the first visible key."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    shape = (*query.shape[:-1], key.shape[-2])
    out = (*query.shape[:-1], value.shape[-1])
    visible = torch.ones(shape, dtype=torch.bool)
    if mask is not None:
        visible = visible & mask
    first = visible & (visible.cumsum(-1) == 1)
    weights = first.to(value.dtype)
    return weights @ value, weights
