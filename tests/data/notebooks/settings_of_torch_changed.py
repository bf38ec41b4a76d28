# attention: right
# A demonstration turns gradients off and asks for float64.
# %%
import math
import torch
torch.manual_seed(0)
torch.set_grad_enabled(False)
torch.set_default_dtype(torch.float64)
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
torch.set_grad_enabled(True)
torch.set_default_dtype(torch.float32)
# %% attention-points
