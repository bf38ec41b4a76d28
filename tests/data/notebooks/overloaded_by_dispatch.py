# attention: right
# The answer is chosen by the kind of its first argument.
# %%
import math
import torch
from functools import singledispatch
# %% attention
@singledispatch
def attention(query, key, value, mask=None, dropout=None):
    raise TypeError(type(query))
@attention.register
def _(query: torch.Tensor, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
