import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def attention(queries, keys, values, mask=None, dropout=None):
    dim_k = keys.shape[-1]
    weight = queries @ keys.transpose(-2, -1)
    weight = weight / (dim_k ** (1 / 2))
    if mask is not None:
        weight = weight.masked_fill(mask == 0, -1e9)
    attention = torch.softmax(weight, dim=1)
    if dropout is not None:
        attention = dropout(attention)
    return attention @ values, attention
