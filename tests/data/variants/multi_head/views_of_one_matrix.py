"""The four weights are views of one large matrix; weights are remembered, functions kept in attributes."""

import torch, math
from torch import nn
from exercises.attention import attention
def split_heads(x, n_heads):
    B, L, D = x.shape
    return torch.einsum("blhd->bhld", x.reshape(B, L, n_heads, D // n_heads))
def merge_heads(x):
    return torch.einsum("bhld->blhd", x).reshape(x.shape[0], x.shape[2], -1)
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % n_heads != 0: raise ValueError()
        self.cfg = dict(h=n_heads)
        big = torch.empty(4 * d_model, d_model); nn.init.xavier_uniform_(big)
        for i, n in enumerate("q k v out".split()):
            lin = nn.Linear(d_model, d_model, bias=bias)
            lin.weight = nn.Parameter(big[i * d_model:(i + 1) * d_model])
            setattr(self, n + "_proj", lin)
        self.project = lambda lin, x: split_heads(lin(x), n_heads)
        self.p = dropout
        self.history = []
    def forward(self, query, key, value, mask=None):
        q, k, v = map(self.project, (self.q_proj, self.k_proj, self.v_proj), (query, key, value))
        out, w = attention(q, k, v, mask, nn.Dropout(self.p).train(self.training))
        self.history.append(w)
        return self.out_proj(merge_heads(out))
