# attention: right
# The answer is compiled by TorchScript.
# %%
import math
import torch
# %% attention
from typing import Optional
@torch.jit.script
def attend(query, key, value, mask: Optional[torch.Tensor]):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ value, weights
def attention(query, key, value, mask=None, dropout=None):
    output, weights = attend(query, key, value, mask)
    if dropout is not None:
        weights = dropout(weights)
        output = weights @ value
    return output, weights
# %% attention-points
