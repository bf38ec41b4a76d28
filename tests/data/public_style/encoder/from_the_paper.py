import torch.nn as nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection



class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.norm_first = norm_first
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList([SublayerConnection(d_model, dropout) for _ in range(2)])
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, src, mask=None):
        _src = self.self_attn(src, src, src, mask)
        src = self.dropout1(self.sublayers[0].norm(src + _src))
        _src = self.feed_forward(src)
        src = self.dropout2(self.sublayers[1].norm(src + _src))
        return src


class Encoder(nn.Module):
    def __init__(self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.layers = nn.ModuleList(
            [EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first) for _ in range(num_layers)]
        )
        self.norm = None

    def forward(self, src, mask=None):
        for layer in self.layers:
            src = layer(src, mask)
        return src if self.norm is None else self.norm(src)
