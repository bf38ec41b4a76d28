"""Ein Kopf nach dem anderen, in einer Schleife; die Maske wird addiert. Kommentare auf Deutsch."""

import torch
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
            [SublayerConnection(d_model, dropout, norm_first) for _ in ("erst", "dann")]
        )
        self.koepfe, self.breite = n_heads, d_model // n_heads
        self.weglassen = nn.Dropout(dropout)

    def aufmerksamkeit(self, x, maske):
        teile = self.self_attn
        frage, schluessel, wert = teile.q_proj(x), teile.k_proj(x), teile.v_proj(x)
        ergebnis = []
        for kopf in range(self.koepfe):
            von, bis = kopf * self.breite, (kopf + 1) * self.breite
            punkte = frage[..., von:bis] @ schluessel[..., von:bis].transpose(1, 2)
            punkte = punkte / self.breite**0.5
            if maske is not None:
                hier = maske
                if maske.dim() > 2:
                    hier = maske[..., kopf if maske.size(-3) > 1 else 0, :, :]
                # sehr kleine Zahl, aber endlich
                punkte = punkte + torch.zeros_like(punkte).masked_fill(~hier, -1e9)
            gewichte = self.weglassen(torch.softmax(punkte, dim=-1))
            ergebnis.append(torch.bmm(gewichte, wert[..., von:bis]))
        return teile.out_proj(torch.cat(ergebnis, dim=-1))

    def forward(self, x, mask=None):
        x = self.sublayers[0](x, lambda y: self.aufmerksamkeit(y, mask))
        return self.sublayers[1](x, self.feed_forward)


class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
            for _ in range(num_layers)
        )
        self.norm = LayerNorm(d_model) if norm_first else None

    def forward(self, x, mask=None):
        for schicht in self.layers:
            x = schicht(x, mask)
        if self.norm is None:
            return x
        return self.norm(x)
