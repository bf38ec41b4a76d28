"""A matrix of two by two for each angle, and einsum; typed."""

from __future__ import annotations

import torch
from torch import Tensor


def rotary_angles(head_dim: int, length: int, base: float = 10000.0) -> Tensor:
    pairs, left = divmod(head_dim, 2)
    if left:
        raise ValueError("an odd head_dim")
    powers = torch.tensor([base ** (-2 * i / head_dim) for i in range(pairs)])
    return torch.arange(length, dtype=powers.dtype)[:, None].mul(powers)


def apply_rotary(x: Tensor, angles: Tensor) -> Tensor:
    c, s = torch.cos(angles), torch.sin(angles)
    rows = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2).to(x.dtype)
    pairs = x.unflatten(-1, (angles.size(-1), 2))
    return torch.einsum("lpij,...lpj->...lpi", rows, pairs).flatten(-2)
