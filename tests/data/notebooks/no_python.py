# attention: wrong
# masks: right
# A cell that is no Python costs its own exercise.
# %%
import math
import torch
# %% attention
def attention(query, key, value, mask=None, dropout=None:
    return query
# %% attention-points
# %% masks
def padding_mask(ids, pad_id=0):
    return (ids != pad_id)[:, None, None, :]

def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]

def target_mask(ids, pad_id=0):
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)
# %% masks-points
