# attention: right
# The answer is made by functools.
# %%
import math
from functools import partial
import torch
def attend(fill, query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention
attention = partial(attend, -1e9)
# %% attention-points
