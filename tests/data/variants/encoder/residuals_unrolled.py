"""Uses only the norms of its connections and writes the residual sums out, with dropouts of its own."""

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
        self.sublayers = nn.ModuleList([SublayerConnection(d_model), SublayerConnection(d_model)])
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        norm1, norm2 = self.sublayers[0].norm, self.sublayers[1].norm
        if self.norm_first:
            h = norm1(x)
            x = x + self.dropout1(self.self_attn(h, h, h, mask))
            return x + self.dropout2(self.feed_forward(norm2(x)))
        x = norm1(x + self.dropout1(self.self_attn(x, x, x, mask)))
        return norm2(x + self.dropout2(self.feed_forward(x)))


class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        options = (d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.layers = nn.ModuleList([EncoderLayer(*options) for _ in range(num_layers)])
        self.norm = None
        if norm_first:
            self.norm = LayerNorm(d_model)

    def forward(self, x, mask=None):
        for i in range(len(self.layers)):
            x = self.layers[i](x, mask)
        return x if self.norm is None else self.norm(x)
