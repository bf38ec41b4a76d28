# layer_norm: forbidden
# attention: right
# The answer calls what it is to write.
# %%
import math
import torch
from torch import nn
# %% layer_norm
class LayerNorm(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
# %% layer_norm-points
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
