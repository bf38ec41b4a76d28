"""A dataclass; lengths in a list; an empty tensor stands for nothing so far."""

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class KVCache:
    keys: Tensor = field(default_factory=lambda: torch.empty(0))
    values: Tensor = field(default_factory=lambda: torch.empty(0))
    lengths: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    def append(self, key: Tensor, value: Tensor) -> list[Tensor]:
        if self.lengths:
            b, h, _, d = self.keys.shape
            e = self.values.size(-1)
            if key.shape != (b, h, key.size(2), d) or value.shape != (b, h, key.size(2), e):
                raise ValueError("another shape")
            key = torch.cat((self.keys.transpose(1, 2), key.transpose(1, 2)), 1).transpose(1, 2)
            value = torch.cat((self.values.transpose(1, 2), value.transpose(1, 2)), 1).transpose(1, 2)
        self.keys, self.values = key, value
        self.lengths.append(key.size(2) - self.length)
        return [key, value]

    def reorder(self, rows: Tensor) -> None:
        if not self.lengths:
            return
        self.keys = torch.stack([self.keys[i] for i in rows.tolist()])
        self.values = torch.stack([self.values[i] for i in rows.tolist()])


def causal_mask_with_past(length, past, device=None):
    full = torch.ones(past + length, past + length, device=device, dtype=torch.bool).tril()
    return full[past:].unsqueeze(0).unsqueeze(0)
