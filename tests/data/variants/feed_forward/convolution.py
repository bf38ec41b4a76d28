"""conv1d with kernel size 1 over the sentence, with the weights of the linear layers."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        # relu ou gelu, rien d'autre
        if activation == "relu":
            self.fonction = F.relu
        elif activation == "gelu":
            self.fonction = F.gelu
        else:
            raise ValueError("fonction inconnue: " + repr(activation))
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.abandon = nn.Dropout(p=dropout)

    @staticmethod
    def convolution(x, couche):
        return F.conv1d(x, couche.weight[:, :, None], couche.bias)

    def forward(self, x):
        x = rearrange(x, "b l d -> b d l")
        cache = self.abandon(self.fonction(self.convolution(x, self.linear1)))
        sortie = self.convolution(cache, self.linear2)
        return torch.permute(sortie, (0, 2, 1))
