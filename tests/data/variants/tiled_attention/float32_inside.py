"""Computes in float32 and casts back; own accumulators in place where no gradient is needed."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    dtype = query.dtype
    q, lowest = query.float() / query.size(-1) ** 0.5, -1e30
    if mask is not None:
        mask = torch.broadcast_to(mask, (*mask.shape[:-1], key.size(-2)))
    m = torch.full_like(q[..., :1], lowest)
    z = torch.zeros_like(m)
    o = torch.zeros(*q.shape[:-1], value.size(-1))
    for start in range(0, key.size(-2), block):
        k, v = (x[..., start : start + block, :].float() for x in (key, value))
        s = q @ k.transpose(-2, -1)
        if mask is not None:
            s = torch.where(mask[..., start : start + block], s, torch.full_like(s, lowest))
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, r = torch.exp(s - new), torch.exp(m - new)
        z, o, m = z * r + p.sum(-1, keepdim=True), o * r + p @ v, new
    return (o / z).to(dtype)
