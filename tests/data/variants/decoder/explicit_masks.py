"""Makes a full mask of ones where none is given, and works on a copy of the memory."""

import torch
from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


def full(mask, queries, keys):
    if mask is None:
        return torch.ones(1, 1, queries, keys, dtype=torch.bool)
    return mask.clone().to(torch.uint8) > 0


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        if d_model % n_heads:
            raise AssertionError("d_model must be divisible by n_heads")
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.cross_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList(
            [
                SublayerConnection(d_model, dropout, norm_first),
                SublayerConnection(d_model, dropout, norm_first),
                SublayerConnection(d_model, dropout, norm_first),
            ]
        )

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        length, source = x.size(1), memory.size(1)
        memory = memory.clone()
        own, cross = full(tgt_mask, length, length), full(memory_mask, length, source)
        x = self.sublayers[0].forward(x, lambda q: self.self_attn.forward(q, q, q, own))
        x = self.sublayers[1].forward(x, lambda q: self.cross_attn.forward(q, memory, memory, cross))
        return self.sublayers[2].forward(x, self.feed_forward.forward)


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
