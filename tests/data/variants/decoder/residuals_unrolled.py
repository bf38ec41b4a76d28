"""Uses only the norms of its connections; the three residual sums stand in the layer."""

import torch.nn.functional as F
from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.cross_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList([SublayerConnection(d_model) for _ in range(3)])
        self.p = dropout
        self.norm_first = norm_first

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        n1, n2, n3 = (one.norm for one in self.sublayers)

        def drop(t):
            return F.dropout(t, self.p, self.training)

        if self.norm_first:
            h = n1(x)
            x = x + drop(self.self_attn(h, h, h, tgt_mask))
            h = n2(x)
            x = x + drop(self.cross_attn(h, memory, memory, memory_mask))
            h = n3(x)
            return x + drop(self.feed_forward(h))
        x = n1(x + drop(self.self_attn(x, x, x, tgt_mask)))
        x = n2(x + drop(self.cross_attn(x, memory, memory, memory_mask)))
        return n3(x + drop(self.feed_forward(x)))


class Decoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
            for _ in range(num_layers)
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask)
        return x if self.norm is None else self.norm(x)
