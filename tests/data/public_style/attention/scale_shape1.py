import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def attention(query, key, value, mask=None, dropout=None):
    d_k = query.shape[-2]
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    p = F.softmax(scores, dim=-1)
    if dropout is not None:
        p = dropout(p)
    return torch.matmul(p, value), p
