import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def padding_mask(src, pad_id=0):
    return (src != pad_id).unsqueeze(1).unsqueeze(2)


def causal_mask(n, device=None):
    m = torch.triu(torch.ones(n, n, device=device)).bool()
    return ~m.view(1, 1, n, n)


def target_mask(trg, pad_id=0):
    trg_pad_mask = (trg != pad_id).unsqueeze(1).unsqueeze(2)
    return trg_pad_mask & causal_mask(trg.shape[1], trg.device)
