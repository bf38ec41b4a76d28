# Returns a million small tensors.
import torch


def attention(query, key, value, mask=None, dropout=None):
    return [torch.zeros(1)] * 1_000_000, None
