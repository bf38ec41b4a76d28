# attention: wrong
# A default is worked out when the function is defined, and its name changes later.
# %%
import math
import torch
axis = -2
# %% attention
def attention(query, key, value, mask=None, dropout=None, axis=axis):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(axis)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
axis = -1
# %% attention-points
