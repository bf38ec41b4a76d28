import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def padding_mask(seq, pad_id=0):
    return (seq != pad_id).unsqueeze(-2)


def causal_mask(size, device=None):
    attn_shape = (1, size, size)
    mask = torch.triu(torch.ones(attn_shape, device=device), diagonal=1).type(torch.uint8)
    return mask == 0


def target_mask(tgt, pad_id=0):
    tgt_mask = (tgt != pad_id).unsqueeze(-2)
    return tgt_mask & causal_mask(tgt.size(-1), tgt.device).type_as(tgt_mask)
