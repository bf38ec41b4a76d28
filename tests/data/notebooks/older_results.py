# attention: right
# Numbers are taken from results by their number and from the one before the last.
# %%
import math
import torch
# %%
-1
# %%
-2
# %%
last, before = _2, _3
assert __ == -1
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(before, last) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
