"""The values themselves, row by row."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    return value[..., torch.arange(query.size(-2)) % value.size(-2), :]
