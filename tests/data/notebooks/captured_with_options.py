# attention: right
# What a cell prints is captured, and its warnings are not.
# %%
import math
import torch
# %% attention
%%capture out --no-stderr
print('a lot')
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
out.show()
marker = len(out.stdout)
# %%
old, attention_of_old = attention, None
# %% attention-points
