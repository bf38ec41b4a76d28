# attention: wrong
# The name of a caught exception is deleted when its block ends.
# %%
import math
import torch
# %%
fill = -1e9
try:
    1 / 0
except ZeroDivisionError as fill:
    pass
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
