"""The query is handed back."""

import torch


def attention(query, key, value, mask=None, dropout=None):
    return query, query @ key.transpose(-2, -1)
