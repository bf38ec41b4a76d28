# attention: right
# Two names trade what they mean.
# %%
import math
import torch
rows, columns = -1, -2
rows, columns = columns, rows
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(rows, columns) / math.sqrt(query.size(columns))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(columns)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
