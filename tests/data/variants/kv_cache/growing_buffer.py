"""A buffer with room to grow, doubled when it is full; what is handed out is a copy."""

import torch
from torch import nn


class KVCache(nn.Module):
    def __init__(self, room: int = 2):
        super().__init__()
        self.room = room
        self.length = 0
        self.k = self.v = None

    def append(self, key, value):
        batch, heads, new, _ = key.shape
        if self.k is None:
            self.k = key.new_zeros(batch, heads, self.room, key.size(-1))
            self.v = value.new_zeros(batch, heads, self.room, value.size(-1))
        assert self.k.shape[:2] == key.shape[:2] == value.shape[:2] == self.v.shape[:2]
        assert self.k.shape[3] == key.shape[3]
        assert self.v.shape[3] == value.shape[3]
        end = self.length + new
        while end > self.room:
            self.k = torch.cat((self.k, torch.zeros_like(self.k)), 2)
            self.v = torch.cat((self.v, torch.zeros_like(self.v)), 2)
            self.room *= 2
        self.k = self.k.slice_scatter(key, 2, self.length, end)
        self.v = self.v.slice_scatter(value, 2, self.length, end)
        self.length = end
        return self.k[:, :, :end].clone(), self.v[:, :, :end].clone()

    def reorder(self, rows):
        if self.length:
            self.k, self.v = self.k[rows], self.v[rows]


def causal_mask_with_past(length, past, device=None):
    old = torch.ones(length, past, device=device)
    new = torch.tril(torch.ones(length, length, device=device))
    return torch.cat((old, new), 1).bool().view(1, 1, length, -1)
