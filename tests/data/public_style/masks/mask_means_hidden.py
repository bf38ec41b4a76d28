import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def padding_mask(ids, pad_id=0):
    return ids.eq(pad_id)[:, None, None, :]


def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return (i[None, :] > i[:, None])[None, None]


def target_mask(ids, pad_id=0):
    return torch.logical_or(padding_mask(ids, pad_id), causal_mask(ids.shape[-1], ids.device))
