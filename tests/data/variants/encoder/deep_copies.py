"""Makes one layer and copies it; a reduce in place of the loop."""

import copy
import functools
from functools import partial

from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


def clones(module, n):
    "Produce n identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super(EncoderLayer, self).__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        self.sublayers = clones(SublayerConnection(d_model, dropout, norm_first=norm_first), 2)

    def _attend(self, x, mask):
        return self.self_attn(query=x, key=x, value=x, mask=mask)

    def forward(self, x, mask=None):
        first, second = self.sublayers
        return second(first(x, partial(self._attend, mask=mask)), self.feed_forward.__call__)


class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super(Encoder, self).__init__()
        self.layers = clones(
            EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first), num_layers
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, mask=None):
        x = functools.reduce(lambda value, layer: layer(value, mask), self.layers, x)
        return (self.norm or (lambda value: value))(x)
