"""Une tête après l'autre, en tranches, et tout recollé à la fin."""

import torch
import torch.nn as nn

import exercises.attention as att


def split_heads(x, n_heads):
    d = x.shape[-1] // n_heads
    sortie = x.new_empty(x.shape[0], n_heads, x.shape[1], d)
    for h in range(n_heads):
        sortie[:, h] = x[:, :, h * d : (h + 1) * d]
    return sortie


def merge_heads(x):
    lot, têtes, longueur, d = x.shape
    return torch.cat([x[:, h] for h in range(têtes)], dim=2).reshape(lot, longueur, têtes * d)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True):
        nn.Module.__init__(self)
        if d_model % n_heads:
            raise ValueError("dimension et nombre de têtes ne vont pas ensemble")
        self.têtes = n_heads
        self.d = d_model // n_heads
        carte = nn.Linear(d_model, d_model, bias=bias)
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = carte
        self.oubli = nn.Dropout(p=dropout)
        self.derniers_poids = None

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None:
            while mask.dim() < 4:
                mask = mask.unsqueeze(0)
            mask = mask.expand(-1, self.têtes, -1, -1)
        morceaux, poids = [], []
        for h in range(self.têtes):
            tranche = slice(h * self.d, (h + 1) * self.d)
            masque = None if mask is None else mask[:, h]
            o, w = att.attention(q[..., tranche], k[..., tranche], v[..., tranche], masque, self.oubli)
            morceaux.append(o)
            poids.append(w)
        self.derniers_poids = torch.stack(poids, 1).detach()
        return self.out_proj(torch.cat(morceaux, dim=-1))
