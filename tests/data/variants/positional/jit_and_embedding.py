"""The table looked up with F.embedding, float64 inside, French names, scripted helper."""

import torch
import torch.nn.functional as F
from torch import nn


@torch.jit.script
def angles(longueur: int, largeur: int, base: float) -> torch.Tensor:
    rang = torch.arange(0, largeur, dtype=torch.float64)
    exposant = torch.floor(rang / 2.0) * 2.0 / float(largeur)
    return torch.arange(0, longueur, dtype=torch.float64).unsqueeze(1) * torch.pow(base, -exposant)


def sinusoidal_table(max_len, d_model, base=10000.0):
    angle = angles(max_len, d_model, float(base))
    pair = torch.sin(angle[:, 0::2])
    impair = torch.cos(angle[:, 1::2])
    sortie = torch.zeros_like(angle)
    sortie[:, ::2], sortie[:, 1::2] = pair, impair
    return sortie.float()


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.longueur_maximale = max_len
        self.abandon = nn.Dropout(dropout)
        self.register_buffer("pe", sinusoidal_table(max_len, d_model))

    def forward(self, x):
        lot, longueur, _ = x.size()
        if longueur > self.longueur_maximale:
            raise ValueError("phrase trop longue")
        places = torch.arange(longueur, device=x.device).expand(lot, longueur)
        return self.abandon(x + F.embedding(places, self.pe))
