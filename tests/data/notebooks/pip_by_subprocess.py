# attention: right
# The first cell installs what it needs by a command, and then imports.
# %%
import subprocess
import sys
subprocess.check_call([sys.executable, '-c', 'pass'])
subprocess.run([sys.executable, '-c', 'pass'], check=True)
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
# %% attention-points
