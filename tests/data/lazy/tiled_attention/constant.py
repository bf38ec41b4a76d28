"""A constant."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    return torch.full((*query.shape[:-1], value.size(-1)), 0.4).to(query)
