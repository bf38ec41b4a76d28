# attention: right
# A magic sets a variable that the answer reads.
# %%
import math
import os
import torch
%env AXIS=-1
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(int(os.environ["AXIS"]))
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
