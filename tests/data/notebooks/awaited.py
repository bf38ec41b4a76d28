# attention: right
# A value is awaited at the top of a cell.
# %%
import asyncio
import math
import torch
async def load():
    await asyncio.sleep(0)
    return -1e9
# %%
fill = await load()
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
