"""Every token sees itself and nothing else."""

import torch


def padding_mask(ids, pad_id=0):
    return torch.arange(ids.size(1)).eq(0).expand(ids.size(0), 1, 1, -1)


def causal_mask(length, device=None):
    return torch.eye(length, dtype=torch.bool)[None, None]


def target_mask(ids, pad_id=0):
    return causal_mask(ids.size(1)).expand(ids.size(0), -1, -1, -1)
