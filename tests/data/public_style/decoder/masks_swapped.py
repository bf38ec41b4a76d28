import torch.nn as nn

from exercises.feed_forward import FeedForward
from exercises.layer_norm import LayerNorm
from exercises.multi_head import MultiHeadAttention
from exercises.sublayer import SublayerConnection



class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.norm_first = norm_first
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.cross_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList([SublayerConnection(d_model, dropout) for _ in range(3)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, dec, enc, trg_mask=None, src_mask=None, tgt_mask=None, memory_mask=None):
        trg_mask = tgt_mask if trg_mask is None else trg_mask
        src_mask = memory_mask if src_mask is None else src_mask
        if self.norm_first:
            n = self.sublayers[0].norm(dec)
            dec = dec + self.dropout(self.self_attn(n, n, n, src_mask))
            n = self.sublayers[1].norm(dec)
            dec = dec + self.dropout(self.cross_attn(n, enc, enc, trg_mask))
            n = self.sublayers[2].norm(dec)
            return dec + self.dropout(self.feed_forward(n))
        _x = dec
        x = self.self_attn(q := dec, q, q, src_mask)
        x = self.sublayers[0].norm(_x + self.dropout(x))
        _x = x
        x = self.cross_attn(x, enc, enc, trg_mask)
        x = self.sublayers[1].norm(_x + self.dropout(x))
        _x = x
        x = self.feed_forward(x)
        return self.sublayers[2].norm(_x + self.dropout(x))


class Decoder(nn.Module):
    def __init__(self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.layers = nn.ModuleList(
            [DecoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first) for _ in range(num_layers)]
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, trg, enc_src, tgt_mask=None, memory_mask=None):
        for layer in self.layers:
            trg = layer(trg, enc_src, tgt_mask, memory_mask)
        return self.norm(trg) if self.norm is not None else trg
