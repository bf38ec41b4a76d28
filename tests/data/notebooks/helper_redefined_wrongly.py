# attention: wrong
# A helper is redefined between the answer and its tests, as a demonstration.
# %%
import math
import torch
def scale(d):
    return math.sqrt(d)
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / scale(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
def scale(d):
    return d
# %% attention-points
