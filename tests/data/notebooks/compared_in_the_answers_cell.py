# attention: right
# The comparison stands above the answer in its own cell.
# %%
import math
import torch
from torch import nn
import torch.nn.functional as F
# %% attention
q = torch.randn(1, 2, 4)
wanted = F.scaled_dot_product_attention(q, q, q)
print(wanted.shape, f"{wanted.mean().item():.2f}")
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
