import torch
import torch.nn as nn
import torch.nn.functional as F
import math



def attention(q, k, v, mask=None, dropout=None):
    energy = torch.einsum("...qd,...kd->...qk", q, k)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    attn = torch.softmax(energy, dim=-1)
    return torch.einsum("...qk,...kd->...qd", attn, v), attn
