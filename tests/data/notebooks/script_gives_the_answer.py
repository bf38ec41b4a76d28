# attention: right
# The answer is in a script that the notebook writes and runs.
# %%
import math
import torch
# %%
%%writefile answer.py
import math
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
%run answer.py
# %% attention
# see answer.py
# %% attention-points
