"""Row by row with stack and cat, the causal mask element by element under a device context."""

import torch
def padding_mask(ids, pad_id=0):
    return torch.stack([torch.stack([torch.stack([row != pad_id])]) for row in ids])
def causal_mask(length, device=None):
    with torch.device(device or "cpu"):
        m = torch.zeros(1, 1, length, length, dtype=torch.bool)
    for q in range(length):
        for k in range(q + 1):
            m[0, 0, q, k] = True
    return m
def target_mask(ids, pad_id=0):
    return torch.cat([padding_mask(r[None], pad_id) * causal_mask(r.numel(), r.device) for r in ids])
