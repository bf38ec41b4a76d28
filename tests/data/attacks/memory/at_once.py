# Asks for a terabyte.
import torch


def attention(query, key, value, mask=None, dropout=None):
    return torch.ones(1 << 38), torch.ones(1 << 38)
