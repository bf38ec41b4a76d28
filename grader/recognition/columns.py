"""Integers as bytes that compress well: the lowest byte of each, then the next of each."""

from __future__ import annotations

import torch
from torch import Tensor


def bytes_of(numbers: Tensor) -> bytes:
    """Return integers as bytes. The first byte says how many bytes each integer takes."""
    whole = numbers.reshape(-1).long()
    # Zigzag encoding: small integers stay small, whatever their sign.
    folded = torch.where(whole < 0, -2 * whole - 1, 2 * whole)
    largest = int(folded.max()) if len(folded) else 0
    planes = max(1, (largest.bit_length() + 7) // 8)
    parts = [(folded >> 8 * plane & 0xFF).to(torch.uint8) for plane in range(planes)]
    return bytes([planes]) + torch.cat(parts).numpy().tobytes()


def numbers_of(content: bytes) -> Tensor:
    """Return the integers, int64, that `bytes_of` wrote."""
    if len(content) == 1:
        return torch.empty(0, dtype=torch.int64)
    planes = torch.frombuffer(bytearray(content[1:]), dtype=torch.uint8).view(content[0], -1).long()
    folded = (planes << 8 * torch.arange(content[0])[:, None]).sum(dim=0)
    return torch.where(folded % 2 == 1, -(folded // 2) - 1, folded // 2)


def bits_of(flags: Tensor) -> bytes:
    """Return booleans as bytes, eight in each."""
    padded = torch.zeros(-(-flags.numel() // 8) * 8, dtype=torch.uint8)
    padded[: flags.numel()] = flags.reshape(-1)
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
    packed = (padded.view(-1, 8) * weights).sum(dim=-1, dtype=torch.uint8)
    return packed.numpy().tobytes()


def flags_of(content: bytes, shape: tuple[int, ...]) -> Tensor:
    """Return the booleans, of this shape, that `bits_of` wrote."""
    packed = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    bits = packed[:, None] >> torch.arange(8, dtype=torch.uint8) & 1
    return bits.reshape(-1)[: torch.Size(shape).numel()].view(shape).bool()
