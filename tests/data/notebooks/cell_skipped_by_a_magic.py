# attention: wrong
# A magic of the notebook's own skips the cell of the answer.
# %%
from IPython.core.magic import register_cell_magic
@register_cell_magic
def skip(line, cell):
    return
# %%
import math
import torch
# %% attention
%%skip
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
