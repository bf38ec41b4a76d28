# attention: wrong
# A later cell wraps the answer, to print shapes, and forgets to hand on the mask.
# %%
import math
import torch
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
plain = attention
def attention(query, key, value, mask=None, dropout=None):
    print(query.shape)
    return plain(query, key, value)
# %% attention-points
