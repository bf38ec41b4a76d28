# attention: right
# What is imported from the future holds in later cells.
# %%
from __future__ import annotations
import math
import torch
# %% attention
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None, dropout=None) -> Pair:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
