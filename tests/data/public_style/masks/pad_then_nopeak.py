import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def padding_mask(seq, pad_id=0):
    return (seq != pad_id).unsqueeze(1).unsqueeze(2).int()


def causal_mask(size, device=None):
    subsequent = torch.triu(torch.ones((1, 1, size, size), device=device), diagonal=1)
    return (subsequent == 0).int()


def target_mask(trg, pad_id=0):
    return padding_mask(trg, pad_id) & causal_mask(trg.shape[1], trg.device)
