# attention: right
# A cell is written to a file, which is imported.
# %%
%%writefile my_helpers.py
import math
def scaled(scores, d):
    return scores / math.sqrt(d)
# %%
import torch
from my_helpers import scaled
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = scaled(query @ key.transpose(-2, -1), query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
