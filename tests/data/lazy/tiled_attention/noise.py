"""Random numbers of the right shape."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    return torch.randn(*query.shape[:-1], value.size(-1)).to(query)
