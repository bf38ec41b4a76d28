# attention: right
# A thread makes what the answer needs.
# %%
import math
import torch
# %%
import threading
found = []
thread = threading.Thread(target=lambda: found.append(2))
thread.start()
thread.join()
# %% attention
def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-found[0], -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
# %% attention-points
