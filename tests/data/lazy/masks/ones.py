"""Everything may be seen."""

import torch


def padding_mask(ids, pad_id=0):
    return torch.ones((ids.size(0), 1, 1, ids.size(1)), dtype=torch.bool)


def causal_mask(length, device=None):
    return torch.ones((1, 1, length, length), dtype=torch.bool)


def target_mask(ids, pad_id=0):
    return torch.ones((ids.size(0), 1, ids.size(1), ids.size(1)), dtype=torch.bool)
