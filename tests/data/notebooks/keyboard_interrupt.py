# attention: right
# A cell was interrupted.
# %%
import math
import torch
# %%
steps = 2
raise KeyboardInterrupt
steps = 3
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-steps, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
