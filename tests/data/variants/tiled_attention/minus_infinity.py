"""A fill of -inf and a running maximum of -inf, made safe with where; narrow; addcmul."""

import math

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    shape = query.shape[:-1]
    m = torch.full((*shape, 1), -math.inf, dtype=query.dtype, device=query.device)
    total = query.new_zeros(*shape, 1)
    acc = query.new_zeros(*shape, value.shape[-1])
    if mask is not None:
        mask = mask.expand(*mask.shape[:-1], key.shape[-2])
    done = 0
    while done < key.shape[-2]:
        width = min(block, key.shape[-2] - done)
        k, v = key.narrow(-2, done, width), value.narrow(-2, done, width)
        s = torch.einsum("...qd,...kd->...qk", query, k) * query.shape[-1] ** -0.5
        if mask is not None:
            s = torch.where(mask.narrow(-1, done, width), s, -math.inf)
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        safe = torch.where(new == -math.inf, torch.zeros_like(new), new)
        p, factor = (s - safe).exp(), (m - safe).exp()
        total = total * factor + p.sum(-1, keepdim=True)
        acc = torch.addcmul(p @ v, acc, factor)
        m, done = new, done + width
    return acc / torch.where(total == 0, torch.ones_like(total), total)
