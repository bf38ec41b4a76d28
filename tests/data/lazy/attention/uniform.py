"""Uniform weights, mask or no mask."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    shape = (*query.shape[:-1], key.shape[-2])
    out = (*query.shape[:-1], value.shape[-1])
    weights = query.new_full(shape, 1 / shape[-1])
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
