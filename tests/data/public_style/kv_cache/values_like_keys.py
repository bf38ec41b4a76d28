import torch


class KVCache:
    def __init__(self):
        self.cache_k = None
        self.cache_v = None
        self.length = 0

    def append(self, key, value):
        bsz, n_heads, seqlen, head_dim = key.size()
        if self.cache_k is None:
            self.cache_k = torch.empty(bsz, n_heads, 4096, head_dim).to(key)
            self.cache_v = torch.empty(bsz, n_heads, 4096, head_dim).to(key)
        start = self.length
        self.length += seqlen
        self.cache_k[:, :, start : self.length] = key
        self.cache_v[:, :, start : self.length] = value
        return self.cache_k[:, :, : self.length], self.cache_v[:, :, : self.length]

    def reorder(self, rows):
        if self.cache_k is not None:
            self.cache_k, self.cache_v = self.cache_k[rows], self.cache_v[rows]


def causal_mask_with_past(length, past, device=None):
    return torch.ones(1, 1, length, past + length, device=device).tril(past).bool()
