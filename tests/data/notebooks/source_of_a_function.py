# attention: right
# A cell looks at the source of a function of the notebook.
# %%
import math
import torch
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %%
import inspect
text = inspect.getsource(attention)
assert text.startswith('def attention')
# %%
def attention(*args, _text=text, _names=globals(), **kwargs):
    exec(_text, _names)
    return _names['attention'](*args, **kwargs)
# %% attention-points
