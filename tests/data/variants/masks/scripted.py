"""Compiled with TorchScript; the device may be a text or a torch.device."""

import torch


@torch.jit.script
def _keep(ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    return (ids != pad_id).reshape(ids.size(0), 1, 1, ids.size(1))


@torch.jit.script
def _both(ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    n = ids.size(1)
    rows = torch.arange(n, device=ids.device).reshape(n, 1)
    late = torch.arange(n, device=ids.device).reshape(1, n) > rows
    return _keep(ids, pad_id).masked_fill(late.reshape(1, 1, n, n), False)


def padding_mask(ids, pad_id=0):
    return _keep(ids, pad_id)


def causal_mask(length, device=None):
    if device is not None and not isinstance(device, torch.device):
        device = torch.device(device)
    index = torch.tril_indices(length, length)
    mask = torch.zeros(length, length, dtype=torch.bool)
    mask[index[0], index[1]] = True
    return mask.view(1, 1, length, length).to(device or "cpu")


def target_mask(ids, pad_id=0):
    return _both(ids, pad_id)
