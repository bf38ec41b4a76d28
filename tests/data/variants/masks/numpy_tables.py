"""Makes the causal mask with numpy and takes it over into torch."""

import numpy as np
import torch


def padding_mask(ids, pad_id=0):
    keep = np.asarray(ids.detach().cpu().numpy()) != pad_id
    return torch.from_numpy(keep[:, np.newaxis, np.newaxis, :].copy()).to(ids.device)


def causal_mask(length, device=None):
    lower = np.tri(length, dtype=bool)
    mask = torch.from_numpy(lower).reshape(1, 1, length, length)
    return mask if device is None else mask.to(device)


def target_mask(ids, pad_id=0):
    return padding_mask(ids, pad_id) * causal_mask(ids.size(1), device=ids.device)
