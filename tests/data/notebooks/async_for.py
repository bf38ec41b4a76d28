# attention: right
# Names are made by an asynchronous loop at the top of a cell.
# %%
import math
import torch
# %%
async def numbers():
    for number in (1, 2):
        yield number
async for steps in numbers():
    pass
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-steps, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
