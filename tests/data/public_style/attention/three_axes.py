import math

import torch


def attention(query, key, value, mask=None, dropout=None):
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 1e-9)
    p = torch.softmax(scores, dim=2)
    if dropout is not None:
        p = dropout(p)
    return torch.bmm(p, value), p
