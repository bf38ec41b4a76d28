"""A loop over queries and blocks; the query is scaled first; results written into a tensor."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    scaled = query * query.shape[-1] ** -0.5
    low = torch.finfo(query.dtype).min / 2
    if mask is not None:
        mask = mask.broadcast_to(*query.shape[:-1], key.shape[-2])
    rows = []
    for i in range(query.shape[-2]):
        q = scaled[..., i, :]
        m = q.new_full(q.shape[:-1], low)
        z, o = torch.zeros_like(m), torch.zeros_like(value[..., 0, :])
        for j in range(0, key.shape[-2], block):
            s = (key[..., j : j + block, :] @ q[..., None])[..., 0]
            if mask is not None:
                s = s.masked_fill(mask[..., i, j : j + block].logical_not(), low)
            m, before = torch.maximum(m, s.max(-1).values), m
            p = torch.exp(s - m[..., None])
            back = torch.exp(before - m)
            z = z * back + p.sum(-1)
            o = o * back[..., None] + (p[..., None, :] @ value[..., j : j + block, :])[..., 0, :]
        rows.append(o / z[..., None])
    return torch.stack(rows, -2)
