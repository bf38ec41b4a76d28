import math

import torch


def attention(query, key, value, mask=None, dropout=None):
    d_k = query.shape[-1]
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(d_k)
    if mask is not None:
        scores[:, ~mask] = -1e9
    p = torch.softmax(scores, dim=-1)
    if dropout is not None:
        p = dropout(p)
    return torch.einsum("...qk,...kd->...qd", p, value), p
