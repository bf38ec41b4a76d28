# attention: right
# A task is made in one cell and awaited in another.
# %%
import math
import torch
# %%
import asyncio
async def find():
    await asyncio.sleep(0)
    return 2
task = asyncio.ensure_future(find())
await asyncio.sleep(0)
# %%
steps = await task
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
