# attention: right
# Names made by := at the top of a cell and within a comprehension.
# %%
import math
import torch
# %%
if (steps := len('ab')) and [last := number for number in (-3, -1)]:
    pass
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-steps, last) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
