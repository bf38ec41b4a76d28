# attention: right
# The answer is an assignment, not a definition.
# %%
import math
import torch
def _attend(q, k, v, mask, dropout, fill):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    weights = (scores if mask is None else scores.masked_fill(~mask, fill)).softmax(-1)
    weights = weights if dropout is None else dropout(weights)
    return weights @ v, weights
# %% attention
attention = lambda query, key, value, mask=None, dropout=None: _attend(
    query, key, value, mask, dropout, -1e9
)
# %% attention-points
