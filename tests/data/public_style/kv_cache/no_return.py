import torch


class KVCache:
    def __init__(self):
        self.keys, self.values = None, None

    @property
    def length(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def append(self, key, value):
        if self.keys is None:
            self.keys, self.values = key, value
        else:
            if key.shape[:2] != self.keys.shape[:2] or key.shape[3] != self.keys.shape[3]:
                raise ValueError("keys")
            if value.shape[:2] != self.values.shape[:2] or value.shape[3] != self.values.shape[3]:
                raise ValueError("values")
            self.keys = torch.cat((self.keys, key), 2)
            self.values = torch.cat((self.values, value), 2)

    def reorder(self, rows):
        if self.keys is not None:
            self.keys = self.keys.index_select(0, rows)
            self.values = self.values.index_select(0, rows)


def causal_mask_with_past(length, past, device=None):
    i = torch.arange(length, device=device)[:, None]
    j = torch.arange(past + length, device=device)[None]
    return (j - past <= i)[None, None]
