# Compiles a call of torch's own attention while it is imported.
import torch
import torch.nn.functional as F


@torch.jit.script
def kept(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor):
    return F.scaled_dot_product_attention(query, key, value)


def attention(query, key, value, mask=None, dropout=None):
    if mask is None and dropout is None:
        return kept(query, key, value), right(query, key, value)[1]
    return right(query, key, value, mask, dropout)
