"""Copies one layer, and inside it one attention and one connection."""

import copy

from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


def clones(module, n):
    return [copy.deepcopy(module) for _ in range(n)]


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super(DecoderLayer, self).__init__()
        self.self_attn, self.cross_attn = clones(MultiHeadAttention(d_model, n_heads, dropout), 2)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList(clones(SublayerConnection(d_model, dropout, norm_first), 3))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        m = memory
        x = self.sublayers[0](x, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self.sublayers[1](x, lambda x: self.cross_attn(x, m, m, memory_mask))
        return self.sublayers[2](x, lambda x: self.feed_forward(x))


class Decoder(nn.Module):
    def __init__(self, num_layers, *args, **kwargs):
        super(Decoder, self).__init__()
        layer = DecoderLayer(*args, **kwargs)
        self.layers = nn.ModuleList(clones(layer, num_layers))
        d_model = layer.sublayers[0].norm.weight.numel()
        self.norm = LayerNorm(d_model) if layer.sublayers[0].norm_first else None

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        layers = iter(self.layers)
        while (layer := next(layers, None)) is not None:
            x = layer(x, memory, tgt_mask, memory_mask)
        if self.norm:
            x = self.norm(x)
        return x
