# attention: wrong
# A semicolon keeps a result from being shown, but _ is not what the cell takes it for.
# %%
import math
import torch
# %%
factor = 1.0
_ = None
# %%
3.0
# %%
factor = _
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / (math.sqrt(query.size(-1)) * factor)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
