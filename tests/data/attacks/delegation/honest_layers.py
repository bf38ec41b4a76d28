# Puts its layers into a sequence, with a product that is a convolution.
# exercise: feed_forward
# expect: full marks
import torch
from torch import nn


class _Map(nn.Linear):
    def forward(self, x):
        flat = x.reshape(1, -1, x.size(-1)).transpose(1, 2)
        y = torch.nn.functional.conv1d(flat, self.weight.unsqueeze(-1), self.bias)
        return y.transpose(1, 2).reshape(*x.shape[:-1], -1)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError("activation is relu or gelu")
        kinds = {"relu": nn.ReLU, "gelu": nn.GELU}
        self.linear1, self.linear2 = _Map(d_model, d_ff), _Map(d_ff, d_model)
        self.steps = (nn.Sequential(self.linear1, kinds[activation](), nn.Dropout(dropout), self.linear2),)

    def train(self, mode=True):
        self.steps[0].train(mode)
        return super().train(mode)

    def forward(self, x):
        return self.steps[0](x)
