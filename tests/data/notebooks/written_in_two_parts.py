# attention: right
# A module is written by one magic and added to by another.
# %%
import math
import torch
# %%
%%writefile scaling.py
import math
# %%
%%writefile -a scaling.py
def root(size):
    return math.sqrt(size)
# %%
from scaling import root
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / root(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
