# feed_forward: right
# Functions register themselves in a table.
# %%
import torch
from torch import nn
import torch.nn.functional as F
ACTIVATIONS = {}
def activation(name):
    def register(function):
        ACTIVATIONS[name] = function
        return function
    return register

@activation("relu")
def relu(x):
    return F.relu(x)

@activation("gelu")
def gelu(x):
    return F.gelu(x)
# %% feed_forward
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = activation

    def forward(self, x):
        return self.linear2(self.dropout(ACTIVATIONS[self.activation](self.linear1(x))))
# %% feed_forward-points
