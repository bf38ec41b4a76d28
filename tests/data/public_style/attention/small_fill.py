import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size()[-1]
    attn_logits = torch.matmul(query, key.transpose(-2, -1))
    attn_logits = attn_logits / math.sqrt(d_k)
    if mask is not None:
        attn_logits = attn_logits.masked_fill(mask == 0, 1e-9)
    attn = F.softmax(attn_logits, dim=-1)
    if dropout is not None:
        attn = dropout(attn)
    values = torch.matmul(attn, value)
    return values, attn
