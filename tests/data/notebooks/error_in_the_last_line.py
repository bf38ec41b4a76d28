# attention: right
# The cell of the answer ends with a line that fails.
# %%
import math
import torch
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
print(attention(torch.ones(2, 3), torch.ones(4, 5), torch.ones(4, 3)))
# %% attention-points
