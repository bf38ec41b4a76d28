import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def attention(q, k, v, attn_mask=None, dropout=None, mask=None):
    mask = attn_mask if mask is None else mask
    sz_b, len_q, d_k = q.shape[0], q.shape[-2], q.shape[-1]
    scores = (q @ k.mT) * d_k ** -0.5
    if mask is not None:
        scores.masked_fill_(mask, -1e9)
    p_attn = scores.softmax(-1)
    p_attn = dropout(p_attn) if dropout else p_attn
    return p_attn @ v, p_attn
