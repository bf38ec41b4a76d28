# masks: wrong
# Of three functions in the cell, the last is not reached.
# %%
import torch
# %% masks
def padding_mask(ids, pad_id=0):
    return (ids != pad_id)[:, None, None, :]

def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]
assert causal_mask(3).shape == (3, 3)

def target_mask(ids, pad_id=0):
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)
# %% masks-points
