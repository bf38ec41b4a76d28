"""The causal mask is kept by functools.lru_cache, the others are filled in place."""

import functools, torch
@functools.lru_cache(maxsize=None)
def causal_mask(length, device=None):
    return ~torch.triu(torch.ones(length, length, device=device, dtype=torch.bool), 1).unsqueeze(0).unsqueeze(0)
def padding_mask(ids, pad_id=0):
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[ids == pad_id] = False
    return mask.view(ids.size(0), 1, 1, -1)
def target_mask(ids, pad_id=0):
    p = padding_mask(ids, pad_id)
    return p.expand(-1, -1, ids.size(1), -1).clone().masked_fill_(~causal_mask(ids.size(1), ids.device), False)
