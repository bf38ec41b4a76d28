# feed_forward: right
# The table of activations is filled by a call.
# %%
import torch
from torch import nn
import torch.nn.functional as F
ACTIVATIONS = {"relu": F.relu}
ACTIVATIONS.update(gelu=F.gelu)
# %% feed_forward
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))
# %% feed_forward-points
