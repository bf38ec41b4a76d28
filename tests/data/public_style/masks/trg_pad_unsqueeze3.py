import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def padding_mask(src, pad_id=0):
    return (src != pad_id).unsqueeze(1).unsqueeze(2)


def causal_mask(n, device=None):
    return torch.tril(torch.ones(n, n, device=device)).bool()[None, None]


def target_mask(trg, pad_id=0):
    trg_pad_mask = (trg != pad_id).unsqueeze(1).unsqueeze(3)
    trg_len = trg.shape[1]
    trg_sub_mask = torch.tril(torch.ones(trg_len, trg_len, device=trg.device)).bool()
    return trg_pad_mask & trg_sub_mask
