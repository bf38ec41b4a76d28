# attention: right
# A module is written anew and loaded again.
# %%
import math
import torch
# %%
%%writefile scaling.py
def root(size):
    return size
# %%
import scaling
# %%
%%writefile scaling.py
def root(size):
    return size ** 0.5  # mended
# %%
import importlib
importlib.reload(scaling)
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / scaling.root(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
