# attention: wrong
# A script that %run runs does not see the notebook's names.
# %%
import math
import torch
# %%
%%writefile scaling.py
scale = math.sqrt(4)
# %%
%run scaling.py
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / (math.sqrt(query.size(-1)) * scale / scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
