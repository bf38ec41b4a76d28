# attention: right
# The device is a global variable, and a demo runs on it.
# %%
import math
import torch
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
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
attention(*torch.randn(3, 2, 2).to(device))
print(f'{device=}')
# %% attention-points
