"""Compiled with torch.jit.script."""

import math

import torch
from torch import Tensor


@torch.jit.script
def _step(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, m: Tensor, z: Tensor, o: Tensor):
    s = torch.matmul(q, k.transpose(-2, -1)).masked_fill(torch.logical_not(visible), -1e30)
    new = torch.maximum(m, torch.amax(s, dim=[-1], keepdim=True))
    p = torch.exp(s - new)
    r = torch.exp(m - new)
    return new, z * r + p.sum(dim=-1, keepdim=True), o * r + torch.matmul(p, v)


def tiled_attention(query: Tensor, key: Tensor, value: Tensor, mask=None, block: int = 64) -> Tensor:
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    mask = mask.expand(*mask.shape[:-1], key.size(-2))
    q = query / math.sqrt(query.size(-1))
    m = torch.full_like(query[..., :1], -1e30)
    z, o = torch.zeros_like(m), torch.zeros_like(query[..., :1]) * value[..., :1, :]
    for i in range(0, key.size(-2), block):
        j = i + block
        m, z, o = _step(q, key[..., i:j, :], value[..., i:j, :], mask[..., i:j], m, z, o)
    return o / z
