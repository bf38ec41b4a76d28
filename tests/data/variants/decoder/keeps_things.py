"""Remembers its last inputs and outputs, prints, has methods for each step and takes more arguments."""

from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


class DecoderLayer(nn.Module):
    def __init__(
        self,
        d_model,
        n_heads,
        d_ff,
        dropout=0.1,
        activation="relu",
        norm_first=False,
        index=0,
        verbose=False,
    ):
        super().__init__()
        self.index, self.verbose = index, verbose
        self.self_attn = MultiHeadAttention(d_model=d_model, n_heads=n_heads, dropout=dropout)
        self.cross_attn = MultiHeadAttention(d_model=d_model, n_heads=n_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList()
        self.sublayers.extend(SublayerConnection(d_model, dropout, norm_first) for _ in range(3))
        self.memory = self.tgt_mask = self.memory_mask = None

    def look_back(self, x):
        return self.self_attn(x, x, x, self.tgt_mask)

    def look_across(self, x):
        return self.cross_attn(x, self.memory, self.memory, self.memory_mask)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        self.memory, self.tgt_mask, self.memory_mask = memory, tgt_mask, memory_mask
        if self.verbose:
            print("layer", self.index, tuple(x.shape))
        for sublayer, step in zip(
            self.sublayers, (self.look_back, self.look_across, self.feed_forward)
        ):
            x = sublayer(x, step)
        self.output = x
        return x


class Decoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                DecoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first, index=i)
                for i in range(num_layers)
            ]
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, memory, tgt_mask=None, memory_mask=None, cache=None):
        print("decoding", x.shape)
        for i, layer in enumerate(self.layers):
            x = layer(x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)
            if cache is not None:
                cache[i] = x
        return self.norm(x) if self.norm is not None else x
