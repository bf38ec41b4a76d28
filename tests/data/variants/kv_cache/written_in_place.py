"""A large buffer that new tokens are written into; nothing that was handed out is written over."""

import torch


class KVCache:
    def __init__(self, max_len=64):
        self.max_len = max_len
        self.key_buffer = None
        self.n = 0

    @property
    def length(self):
        return self.n

    def append(self, key, value):
        if self.key_buffer is None:
            self.key_buffer = torch.empty(*key.shape[:2], self.max_len, key.shape[3], dtype=key.dtype)
            self.value_buffer = torch.empty(*value.shape[:2], self.max_len, value.shape[3], dtype=value.dtype)
        for buffer, new in ((self.key_buffer, key), (self.value_buffer, value)):
            if (*buffer.shape[:2], buffer.shape[3]) != (*new.shape[:2], new.shape[3]):
                raise ValueError("does not fit")
        stop = self.n + key.shape[2]
        self.key_buffer[:, :, self.n : stop] = key
        self.value_buffer[:, :, self.n : stop] = value
        self.n = stop
        return self.key_buffer[:, :, :stop], self.value_buffer[:, :, :stop]

    def reorder(self, rows):
        if self.n > 0:
            self.key_buffer = self.key_buffer[rows]
            self.value_buffer = self.value_buffer[rows]


def causal_mask_with_past(length, past, device=None):
    return ~torch.triu(torch.ones(length, past + length, dtype=torch.bool, device=device), diagonal=past + 1)[None, None]
