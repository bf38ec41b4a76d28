"""All in one nn.Sequential, so that each parameter has two names."""

from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        try:
            act = {"relu": nn.ReLU, "gelu": nn.GELU}[activation]
        except KeyError:
            raise ValueError(f"unknown activation {activation}") from None
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.net = nn.Sequential(self.linear1, act(), nn.Dropout(dropout), self.linear2)

    def forward(self, x):
        return self.net(x)
