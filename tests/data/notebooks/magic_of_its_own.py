# attention: right
# The notebook has a cell magic of its own, which runs the cell.
# %%
from IPython.core.magic import register_cell_magic
@register_cell_magic
def run_if(line, cell):
    if eval(line):
        get_ipython().run_cell(cell)
# %%
import math
import torch
# %% attention
%%run_if 1 + 1 == 2
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
