# attention: wrong
# A function made in a loop sees the loop's last value.
# %%
import math
import torch
# %%
helpers = []
for power in (0.5, 1.0):
    helpers.append(lambda size: size ** power)
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / helpers[0](query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
