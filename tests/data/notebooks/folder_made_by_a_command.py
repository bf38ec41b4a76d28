# attention: right
# A folder is made by a command, and a file written into it.
# %%
!mkdir -p out
import math
import torch
with open('out/scale.txt', 'w') as file:
    file.write('0.5')
# %% attention
power = float(open('out/scale.txt').read())
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** power
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
