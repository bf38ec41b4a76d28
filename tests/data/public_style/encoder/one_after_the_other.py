from torch import nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList(
            [SublayerConnection(d_model, dropout, norm_first) for _ in range(2)]
        )

    def forward(self, x, mask=None):
        out = self.self_attn(x, x, x, mask)
        out = self.feed_forward(out)
        return out


class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
                for _ in range(num_layers)
            ]
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, mask=None):
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.norm is None else self.norm(x)
