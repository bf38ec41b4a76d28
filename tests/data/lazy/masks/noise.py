"""A coin is thrown for every position."""

import torch


def padding_mask(ids, pad_id=0):
    return torch.rand((ids.size(0), 1, 1, ids.size(1))) < 0.5


def causal_mask(length, device=None):
    return torch.rand((1, 1, length, length)) < 0.5


def target_mask(ids, pad_id=0):
    return torch.rand((ids.size(0), 1, ids.size(1), ids.size(1))) < 0.5
