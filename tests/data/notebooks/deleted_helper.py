# attention: wrong
# A helper is deleted before the tests.
# %%
import math
import torch
def scale(x, d):
    return x / math.sqrt(d)
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = scale(query @ key.transpose(-2, -1), query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
del scale
# %% attention-points
