"""Folds all leading axes into one and uses baddbmm with the mask as the thing that is added."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    lead = query.shape[:-2]
    n_q, n_k, d = query.shape[-2], key.shape[-2], query.shape[-1]
    q = query.reshape(-1, n_q, d)
    k = key.reshape(-1, n_k, d)
    v = value.reshape(-1, n_k, value.shape[-1])
    bias = q.new_zeros(q.shape[0], n_q, n_k)
    if mask is not None:
        wide = mask.expand(*lead, n_q, n_k).reshape(-1, n_q, n_k)
        bias = bias.masked_fill(~wide, torch.finfo(q.dtype).min / 2)
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=d**-0.5)
    weights = scores.softmax(2)
    used = dropout(weights) if dropout is not None else weights
    out = torch.bmm(used, v)
    return out.reshape(*lead, n_q, -1), used.reshape(*lead, n_q, n_k)
