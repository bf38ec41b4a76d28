"""Everything is written anew in one file: einsum, a softmax by hand, no helper of the kit."""

import math

import torch
import torch.nn as nn


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        m = x.mean(dim=-1, keepdim=True)
        v = ((x - m) ** 2).mean(dim=-1, keepdim=True)
        return (x - m) / torch.sqrt(v + 1e-5) * self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        if d % h:
            raise ValueError("d_model % n_heads != 0")
        self.h, self.p = h, p
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        b, n, d = q.shape
        q = self.q_proj(q).view(b, n, self.h, -1) * (d // self.h) ** -0.5
        k = self.k_proj(k).view(b, k.size(1), self.h, -1)
        v = self.v_proj(v).view(b, v.size(1), self.h, -1)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
        scores = scores - scores.max(dim=-1, keepdim=True).values
        exp = scores.exp()
        weights = exp / exp.sum(-1, keepdim=True)
        weights = nn.functional.dropout(weights, self.p, self.training)
        return self.out_proj(torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, n, d))


class FeedForward(nn.Module):
    def __init__(self, d, f, p, activation):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d, f), nn.Linear(f, d)
        self.p, self.activation = p, activation

    def forward(self, x):
        x = self.linear1(x)
        x = torch.relu(x) if self.activation == "relu" else x * (1 + torch.erf(x / math.sqrt(2))) / 2
        return self.linear2(nn.functional.dropout(x, self.p, self.training))


class Holder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = Norm(d)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.self_attn = Attention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList([Holder(d_model) for _ in range(2)])
        self.p, self.norm_first = dropout, norm_first

    def drop(self, x):
        return nn.functional.dropout(x, self.p, self.training)

    def forward(self, x, mask=None):
        steps = [lambda y: self.self_attn(y, y, y, mask), lambda y: self.feed_forward(y)]
        for step, holder in zip(steps, self.sublayers):
            if self.norm_first:
                x = x + self.drop(step(holder.norm(x)))
            else:
                x = holder.norm(x + self.drop(step(x)))
        return x


class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first))
        self.norm = Norm(d_model) if norm_first else nn.Identity()

    def forward(self, x, mask=None):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
