# attention: right
# A name is bound by a with statement and a walrus.
# %%
import contextlib
import math
import torch
with contextlib.nullcontext(-1e9) as fill:
    pass
print(axis := -1)
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    weights = scores.softmax(axis)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
