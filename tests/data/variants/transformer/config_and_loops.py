"""Configuration par dataclass, masques faits avec des boucles, NamedTuple pour les masques."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from exercises.decoder import Decoder
from exercises.embedding import TransformerEmbedding
from exercises.encoder import Encoder


class Masques(NamedTuple):
    cible: Tensor
    source: Tensor


@dataclass
class Reglages:
    d_model: int
    n_heads: int
    num_layers: int
    d_ff: int
    dropout: float
    max_len: int
    activation: str
    norm_first: bool

    def pile(self, classe):
        return classe(
            num_layers=self.num_layers,
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_ff=self.d_ff,
            dropout=self.dropout,
            activation=self.activation,
            norm_first=self.norm_first,
        )

    def plongement(self, taille):
        return TransformerEmbedding(taille, self.d_model, self.dropout, self.max_len)


class Transformer(nn.Module):
    def __init__(
        self,
        src_vocab_size,
        tgt_vocab_size,
        d_model=512,
        n_heads=8,
        num_layers=6,
        d_ff=2048,
        dropout=0.1,
        max_len=5000,
        pad_id=0,
        activation="relu",
        norm_first=False,
    ):
        super().__init__()
        reglages = Reglages(
            d_model, n_heads, num_layers, d_ff, dropout, max_len, activation, norm_first
        )
        self.src_embedding = reglages.plongement(src_vocab_size)
        self.tgt_embedding = reglages.plongement(tgt_vocab_size)
        self.encoder = reglages.pile(Encoder)
        self.decoder = reglages.pile(Decoder)
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        self.pad_id = pad_id
        print("paramètres :", sum(p.numel() for p in self.parameters()))

    def masques(self, cible, source):
        lot, longueur = cible.shape
        vu = torch.zeros(lot, 1, longueur, longueur, dtype=torch.bool, device=cible.device)
        for ligne in range(longueur):
            for colonne in range(ligne + 1):
                vu[:, 0, ligne, colonne] = cible[:, colonne] != self.pad_id
        return Masques(vu, self.visible(source))

    def visible(self, source):
        # (lot, 1, longueur, longueur) : la même ligne pour chaque requête
        lot, longueur = source.shape
        return (source != self.pad_id).reshape(lot, 1, 1, longueur)

    def encode(self, src):
        longueur = src.size(1)
        return self.encoder(self.src_embedding(src), self.visible(src).expand(-1, 1, longueur, -1))

    def decode(self, tgt, memory, src):
        cible, source = self.masques(tgt, src)
        return self.decoder(self.tgt_embedding(tgt), memory, cible, source)

    def forward(self, src, tgt, return_memory=False):
        memory = self.encode(src)
        logits = self.generator(self.decode(tgt, memory, src))
        return (logits, memory) if return_memory else logits
