# attention: right
# A demo takes the name of a function, and gives it back.
# %%
import math
import torch
# %%
float = 3.0
# %%
del float
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / float(query.size(-1)) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
