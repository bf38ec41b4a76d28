# attention: wrong
# A magic deletes the helper.
# %%
import math
import torch
def root_of(size):
    return size ** 0.5
# %%
%reset_selective -f root
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / root_of(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
