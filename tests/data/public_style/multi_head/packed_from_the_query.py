import torch
import torch.nn as nn
import torch.nn.functional as F
from exercises.attention import attention

def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

def merge_heads(x):
    return x.transpose(1, 2).flatten(-2)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"{d_model} % {n_heads}")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        W = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        b = None
        if self.q_proj.bias is not None:
            b = torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias])
        q, k, v = F.linear(query, W, b).chunk(3, dim=-1)
        q, k, v = [split_heads(t, self.n_heads) for t in (q, k, v)]
        y, _ = attention(q, k, v, mask, self.drop)
        return self.out_proj(merge_heads(y))
