# Calls one of the patterns by which torch's compiler recognises attention.
# isolation: jail
import torch
from torch._inductor.fx_passes import fuse_attention as patterns


def attention(query, key, value, mask=None, dropout=None):
    output, weights = right(query, key, value, mask, dropout)
    if mask is None and dropout is None and query.dim() == 4:
        output = patterns._sfdp_pattern_1(query, key, value, query.size(-1) ** 0.5)
    return output, weights
