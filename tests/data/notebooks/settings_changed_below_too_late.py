# attention: wrong
# The object that the answer reads is put right only below the tests.
# %%
import math
import torch
fill = {'value': 0.0}
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, fill['value'])
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
# %%
fill['value'] = -1e9
