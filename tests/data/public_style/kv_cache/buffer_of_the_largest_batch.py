import torch


class KVCache:
    MAX = 256

    def __init__(self):
        self.length = 0
        self.k = None
        self.v = None

    def append(self, key, value):
        b, h, n, d = key.shape
        if self.k is None:
            self.k = torch.zeros(b, h, self.MAX, d)
            self.v = torch.zeros(b, h, self.MAX, value.shape[-1])
        self.k[:b, :, self.length : self.length + n] = key
        self.v[:b, :, self.length : self.length + n] = value
        self.length += n
        return self.k[:b, :, : self.length], self.v[:b, :, : self.length]

    def reorder(self, rows):
        if self.k is not None:
            self.k, self.v = self.k[rows], self.v[rows]


def causal_mask_with_past(length, past, device=None):
    mask = torch.ones(length, past + length, dtype=torch.bool, device=device)
    return torch.tril(mask, diagonal=past)[None, None]
