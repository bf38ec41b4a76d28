"""The new tokens are handed back, and nothing is kept."""

import torch


class KVCache:
    length = 0

    def append(self, key, value):
        return key, value

    def reorder(self, rows):
        pass


def causal_mask_with_past(length, past, device=None):
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device)
