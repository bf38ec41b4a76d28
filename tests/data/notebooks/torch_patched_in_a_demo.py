# attention: wrong
# A demo replaces a method of tensors for good, and the answer calls it.
# %%
import math
import torch
# %%
old = torch.Tensor.softmax
torch.Tensor.softmax = lambda self, *a, **k: old(self * 2, *a, **k)
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
