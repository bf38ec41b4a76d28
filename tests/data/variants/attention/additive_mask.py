"""A mask of numbers, 0 and -1e9, added to the scores as the first libraries had it."""

import numpy as np
import torch
import torch.nn.functional as F

NEG = -1e9


def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / np.sqrt(d_k)
    if mask is not None:
        scores = scores + (1.0 - mask.float()) * NEG
    p_attn = F.softmax(scores, dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn
