"""Uniform weights over what the mask leaves visible; it has a graph and minds dropout."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    shape = (*query.shape[:-1], key.shape[-2])
    out = (*query.shape[:-1], value.shape[-1])
    weights = query.new_ones(shape) + 0 * query.sum() + 0 * key.sum()
    if mask is not None:
        weights = weights * mask
    weights = weights / weights.sum(-1, keepdim=True).clamp_min(1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
