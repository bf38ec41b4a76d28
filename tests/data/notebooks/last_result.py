# attention: right
# A number is taken from what the cell above shows.
# %%
import math
import torch
# %%
2 * 1
# %%
steps = _
assert Out[2] == 2
assert 'math' in In[1]
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-steps, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
