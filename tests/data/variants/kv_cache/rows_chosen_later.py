"""Rows are only noted at `reorder`, and chosen at the next `append`."""

import torch
from torch import Tensor


class KVCache:
    def __init__(self) -> None:
        self.state: tuple[Tensor, Tensor] | None = None
        self.rows: Tensor | None = None

    @property
    def length(self) -> int:
        return self.state[0].size(2) if self.state else 0

    def reorder(self, rows: Tensor) -> None:
        if self.state:
            self.rows = rows if self.rows is None else self.rows[rows]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if self.state is None:
            self.state = (key.clone(), value.clone())
            return self.state
        keys, values = self.state
        if self.rows is not None:
            keys, values = keys[self.rows], values[self.rows]
        if keys.shape[:2] + keys.shape[3:] != key.shape[:2] + key.shape[3:]:
            raise ValueError("keys do not fit")
        if values.shape[:2] + values.shape[3:] != value.shape[:2] + value.shape[3:]:
            raise ValueError("values do not fit")
        self.rows = None
        self.state = (torch.cat((keys, key), 2), torch.cat((values, value), 2))
        return self.state


def causal_mask_with_past(length: int, past: int, device: torch.device | None = None) -> Tensor:
    mask = torch.full((length, length + past), True, device=device)
    for i in range(length):
        mask[i, past + i + 1 :] = False
    return mask[None, None]
