# attention: right
# Magics and shell lines of many kinds.
# %%
%matplotlib inline
%load_ext autoreload
%autoreload 2
!echo pip install torch einops
import math
import torch
files = !ls
where = %pwd
%env SCALE=2
# %% attention
%%time
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
attention?
%time attention(torch.ones(1, 2, 3), torch.ones(1, 2, 3), torch.ones(1, 2, 3))
# %% attention-points
