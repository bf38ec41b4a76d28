# Returns more than a reply may hold.
import torch


def attention(query, key, value, mask=None, dropout=None):
    return torch.zeros(1 << 25), torch.zeros(1 << 25)
