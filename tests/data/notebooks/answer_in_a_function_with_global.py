# attention: right
# The answer is made by a function that is called.
# %%
import math
import torch
# %% attention
def setup():
    global attention, scale
    scale = 1.0
    def attention(query, key, value, mask=None, dropout=None):
        scores = query @ key.transpose(-2, -1) / (math.sqrt(query.size(-1)) * scale)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = scores.softmax(-1)
        if dropout is not None:
            weights = dropout(weights)
        return weights @ value, weights
setup()
# %% attention-points
