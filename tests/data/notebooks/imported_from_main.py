# attention: right
# A name is imported from the notebook itself.
# %%
import math
import torch
steps = 2
# %%
from __main__ import steps as two
import __main__
assert __main__.steps == 2 and __name__ == '__main__'
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-two, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
