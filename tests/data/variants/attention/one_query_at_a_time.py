"""A loop over queries and a sum over keys, written as one would say it aloud."""

from math import sqrt

import torch
from torch import stack, where, zeros_like


def look_up(q, keys, values, visible, drop_row):
    comparison = (keys * q[..., None, :]).sum(dim=-1) / sqrt(q.shape[-1])
    if visible is not None:
        lowest = torch.full_like(comparison, -1e30)
        comparison = where(visible, comparison, lowest)
    comparison = comparison - comparison.max(dim=-1, keepdim=True)[0].detach()
    share = comparison.exp()
    share = share / share.sum(-1, keepdim=True)
    if visible is not None:
        share = where(visible, share, zeros_like(share))
    return share


def attention(query, key, value, mask=None, dropout=None):
    n = query.shape[-2]
    if mask is not None:
        mask = mask.expand(query.shape[:-1] + (key.shape[-2],))
    rows = []
    for i in range(n):
        visible = None if mask is None else mask[..., i, :]
        rows.append(look_up(query[..., i, :], key, value, visible, dropout))
    weights = stack(rows, dim=-2)
    assert weights.shape[-2] == n, "une ligne par requête"
    if dropout is not None:
        weights = dropout(weights)
    output = (weights[..., None] * value[..., None, :, :]).sum(-2)
    return [output, weights]
