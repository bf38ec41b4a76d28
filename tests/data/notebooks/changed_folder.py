# attention: right
# The notebook changes the folder and reads a file there.
# %%
import math
import torch
# %%
import os
os.mkdir('sub')
with open('sub/two.txt', 'w') as file:
    file.write('2')
# %%
%cd sub
# %%
steps = int(open('two.txt').read())
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
