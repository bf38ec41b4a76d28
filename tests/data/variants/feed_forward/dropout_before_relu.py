"""Dropout before a relu, where it is the same, and after a gelu; in-place activation."""

import torch.nn as nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        if activation == "relu":
            self.between = nn.Sequential(nn.Dropout(dropout), nn.ReLU(inplace=True))
        elif activation == "gelu":
            self.between = nn.Sequential(nn.GELU(approximate="none"), nn.Dropout(dropout))
        else:
            raise ValueError("activation must be relu or gelu")

    def forward(self, x):
        x = self.linear1(x)
        x = self.between(x)
        x = self.linear2(x)
        return x
