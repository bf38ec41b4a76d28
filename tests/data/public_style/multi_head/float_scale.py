import torch
from torch import nn


def split_heads(x, n_heads):
    return x.view(x.size(0), x.size(1), n_heads, -1).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("heads")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_proj(query), self.n_heads)
        k = split_heads(self.k_proj(key), self.n_heads)
        v = split_heads(self.v_proj(value), self.n_heads)
        energy = torch.matmul(q, k.transpose(2, 3)) / torch.sqrt(torch.FloatTensor([q.size(-1)]))
        if mask is not None:
            energy = energy.masked_fill(mask == 0, -1e10)
        attn = self.dropout(energy.softmax(-1))
        return self.out_proj(merge_heads(torch.matmul(attn, v)))
