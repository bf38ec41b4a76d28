# attention: wrong
# The second line makes right code wrong; to leave it out would make it right.
# %%
import math
import torch
last = -1
last -= 1
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(last)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
