"""Compares positions with one another, no triangle function at all."""

import torch


def padding_mask(ids, pad_id=0):
    return ids.ne(pad_id).unsqueeze(1).unsqueeze(2)


def causal_mask(length, device=None):
    position = torch.arange(length, device=device)
    return (position[None, :] <= position[:, None])[None, None]


def target_mask(ids, pad_id=0):
    position = torch.arange(ids.shape[-1], device=ids.device)
    causal = position.view(1, 1, 1, -1) <= position.view(1, 1, -1, 1)
    return torch.logical_and(causal, ids[:, None, None] != pad_id)
