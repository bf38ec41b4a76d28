"""The values are handed back."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    return value, torch.ones_like(query)
