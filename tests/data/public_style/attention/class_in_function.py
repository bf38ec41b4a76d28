import torch
import torch.nn as nn
import torch.nn.functional as F
import math



class ScaledDotProductAttention(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, q, k, v, mask=None, dropout=None):
        attn = torch.matmul(q / self.temperature, k.transpose(-1, -2))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, float("-inf"))
        attn = F.softmax(attn, dim=-1)
        if dropout is not None:
            attn = dropout(attn)
        return torch.matmul(attn, v)


def attention(query, key, value, mask=None, dropout=None):
    return ScaledDotProductAttention(query.size(-1) ** 0.5)(query, key, value, mask, dropout)
