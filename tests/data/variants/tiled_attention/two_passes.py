"""First the maximum and the sum of all blocks, then the blocks a second time for the values."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    if mask is not None:
        mask = mask.expand(*mask.shape[:-1], key.size(-2))

    def blocks():
        for start in range(0, key.size(-2), block):
            s = query @ key[..., start : start + block, :].transpose(-2, -1) * query.size(-1) ** -0.5
            if mask is not None:
                s = s.masked_fill(~mask[..., start : start + block], -1e5)
            yield start, s

    top = None
    for _, s in blocks():
        here = s.amax(-1, keepdim=True)
        top = here if top is None else torch.maximum(top, here)
    total = sum((s - top).exp().sum(-1, keepdim=True) for _, s in blocks())
    return sum(((s - top).exp() / total) @ value[..., start : start + block, :] for start, s in blocks())
