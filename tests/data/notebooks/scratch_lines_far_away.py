# attention: right
# Scratch lines with the names of the answer, in cells that fail.
# %%
import math
import torch
# %%
query, key = torch.randn(2, 3), torch.randn(4, 3)
scores = query @ key.T
weights = torch.load("weights.pt")
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
scores = query @ key
# %% attention-points
