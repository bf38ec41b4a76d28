"""Random numbers, with weights that sum to one."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    shape = (*query.shape[:-1], key.shape[-2])
    out = (*query.shape[:-1], value.shape[-1])
    weights = torch.randn(shape, dtype=query.dtype).softmax(-1)
    return torch.randn(out, dtype=query.dtype), weights
