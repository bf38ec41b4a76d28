# masks: right
# Each function of the answer has a cell of its own.
# %%
import torch
# %% masks
def padding_mask(ids, pad_id=0):
    return (ids != pad_id)[:, None, None, :]
# %%
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]
# %%
def target_mask(ids, pad_id=0):
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)
# %% masks-points
