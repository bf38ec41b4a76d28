"""Functions throughout; gelu with erf by hand; relu by clamp; old-style super; assert."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super(FeedForward, self).__init__()
        assert activation in ["relu", "gelu"], "activation should be relu/gelu, not %s" % activation
        self.activation = activation
        self.p = dropout
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        h = F.linear(x, self.linear1.weight, self.linear1.bias)
        if self.activation == "relu":
            h = torch.clamp(h, min=0)
        else:
            h = gelu(h)
        h = F.dropout(h, p=self.p, training=self.training)
        return F.linear(h, self.linear2.weight, self.linear2.bias)
