"""The decoder layer inherits from a layer with two sublayers, and the stack from a common base."""

from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


class Base(nn.Module):
    attentions = ("self_attn",)

    def __init__(self, d_model, n_heads, d_ff, dropout, activation, norm_first):
        super().__init__()
        for name in self.attentions:
            setattr(self, name, MultiHeadAttention(d_model, n_heads, dropout))
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        count = len(self.attentions) + 1
        self.sublayers = nn.ModuleList(
            SublayerConnection(d_model, dropout, norm_first) for _ in range(count)
        )

    def run(self, x, *steps):
        for sublayer, step in zip(self.sublayers, steps, strict=True):
            x = sublayer(x, step)
        return x


class DecoderLayer(Base):
    attentions = ("self_attn", "cross_attn")

    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__(d_model, n_heads, d_ff, dropout, activation, norm_first)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(
            x,
            lambda y: self.self_attn(y, y, y, tgt_mask),
            lambda y: self.cross_attn(y, memory, memory, memory_mask),
            lambda y: self.feed_forward(y),
        )


class Stack(nn.Module):
    kind: type

    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        options = {"dropout": dropout, "activation": activation, "norm_first": norm_first}
        made = (self.kind(d_model, n_heads, d_ff, **options) for _ in range(num_layers))
        self.layers = nn.ModuleList(made)
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, *rest, **named):
        for layer in self.layers:
            x = layer(x, *rest, **named)
        return x if self.norm is None else self.norm(x)


class Decoder(Stack):
    kind = DecoderLayer
