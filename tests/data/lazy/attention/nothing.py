"""Returns None."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    return None
