"""Tout est réécrit dans ce fichier, sans import du kit ; les têtes passent dans le lot."""

import torch
import torch.nn.functional as F
from torch import nn


class Norme(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias, 1e-5)


class Tetes(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.h, self.p = h, p
        self.q_proj = nn.Linear(d, d)
        self.k_proj = nn.Linear(d, d)
        self.v_proj = nn.Linear(d, d)
        self.out_proj = nn.Linear(d, d)

    def plie(self, x):
        b, n, d = x.shape
        return x.reshape(b, n, self.h, d // self.h).transpose(1, 2).reshape(b * self.h, n, -1)

    def forward(self, source, cible, masque):
        b, n, d = source.shape
        q, k, v = self.plie(self.q_proj(source)), self.plie(self.k_proj(cible)), self.plie(self.v_proj(cible))
        notes = torch.baddbmm(q.new_zeros(1), q, k.transpose(1, 2), alpha=(d // self.h) ** -0.5)
        if masque is not None:
            complet = masque.expand(b, self.h, n, cible.size(1)).reshape(notes.shape)
            notes = notes.masked_fill(~complet, -1e20)
        poids = F.dropout(notes.log_softmax(-1).exp(), self.p, self.training)
        sortie = (poids @ v).reshape(b, self.h, n, -1).transpose(1, 2).reshape(b, n, d)
        return self.out_proj(sortie)


class Reseau(nn.Module):
    def __init__(self, d, f, p, activation):
        super().__init__()
        self.linear1 = nn.Linear(d, f)
        self.linear2 = nn.Linear(f, d)
        self.p = p
        self.activation = {"relu": F.relu, "gelu": F.gelu}[activation]

    def forward(self, x):
        return self.linear2(F.dropout(self.activation(self.linear1(x)), self.p, self.training))


class Lien(nn.Module):
    def __init__(self, d, p, avant):
        super().__init__()
        self.norm, self.p, self.avant = Norme(d), p, avant

    def forward(self, x, f):
        y = F.dropout(f(self.norm(x) if self.avant else x), self.p, self.training)
        return x + y if self.avant else self.norm(x + y)


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False):
        super().__init__()
        self.self_attn = Tetes(d_model, n_heads, dropout)
        self.cross_attn = Tetes(d_model, n_heads, dropout)
        self.feed_forward = Reseau(d_model, d_ff, dropout, activation)
        self.sublayers = nn.ModuleList([Lien(d_model, dropout, norm_first) for _ in range(3)])

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.sublayers[0](x, lambda y: self.self_attn(y, y, tgt_mask))
        x = self.sublayers[1](x, lambda y: self.cross_attn(y, memory, memory_mask))
        return self.sublayers[2](x, self.feed_forward)


class Decoder(nn.Module):
    def __init__(
        self, num_layers, d_model, n_heads, d_ff, dropout=0.1, activation="relu", norm_first=False
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                DecoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first)
                for _ in range(num_layers)
            ]
        )
        self.norm = Norme(d_model) if norm_first else nn.Identity()

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        for couche in self.layers:
            x = couche(x, memory, tgt_mask, memory_mask)
        return self.norm(x)
