"""Computes in float32 whatever it is given, and casts back at the end."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    dtype = query.dtype
    q, k, v = query.float(), key.float(), value.float()
    s = torch.matmul(q, k.transpose(-1, -2)) * torch.rsqrt(torch.tensor(float(q.size(-1))))
    if mask is not None:
        s = s.masked_fill(mask == 0, torch.finfo(torch.float32).min)
    w = torch.nn.Softmax(dim=-1)(s)
    if dropout is not None:
        w = dropout(w)
    return torch.matmul(w, v).to(dtype), w.to(dtype)
