# attention: right
# A nested function counts with nonlocal.
# %%
import math
import torch
# %% attention
def counting(function):
    calls = 0
    def counted(*args, **kwargs):
        nonlocal calls
        calls += 1
        counted.calls = calls
        return function(*args, **kwargs)
    return counted
@counting
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
attention(*torch.ones(3, 2, 2))
assert attention.calls == 1
# %% attention-points
