"""Holds its parts in Sequentials and dicts as well, and keeps its last output."""

from collections import OrderedDict

import torch
from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.parts = nn.ModuleDict(
            {
                "attention": MultiHeadAttention(d_model, n_heads, dropout),
                "network": FeedForward(d_model, d_ff, dropout, activation),
            }
        )
        self.self_attn = self.parts["attention"]
        self.feed_forward = self.parts["network"]
        self.sublayers = nn.Sequential(
            SublayerConnection(d_model, dropout, norm_first),
            SublayerConnection(d_model, dropout, norm_first),
        )
        self.last = None

    def forward(self, x, mask=None):
        x = self.sublayers[0](x, lambda y: self.parts["attention"](y, y, y, mask))
        self.last = self.sublayers[1](x, self.parts["network"])
        return self.last


class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        made = [
            (str(i), EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first))
            for i in range(num_layers)
        ]
        self.layers = nn.Sequential(OrderedDict(made))
        self.register_module("norm", LayerNorm(d_model) if norm_first else None)
        self.history: list[torch.Tensor] = []

    def forward(self, x, mask=None):
        self.history = [x]
        for layer in self.layers.children():
            self.history.append(layer(self.history[-1], mask))
        if self.norm:
            self.history.append(self.norm(self.history[-1]))
        return self.history[-1]
