"""x cos + rotated(x) sin, with angles laid out for pairs."""

import math

import torch


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim & 1:
        raise ValueError(head_dim)
    inv_freq = torch.exp(torch.arange(0, head_dim, 2) * (-math.log(base) / head_dim))
    return torch.arange(length).unsqueeze(1) * inv_freq


def rotate_every_two(x):
    x1, x2 = x[..., ::2], x[..., 1::2]
    return torch.stack((-x2, x1), dim=-1).reshape(x.shape)


def apply_rotary(x, angles):
    cos = torch.repeat_interleave(angles.cos(), 2, dim=-1).to(x)
    sin = torch.repeat_interleave(angles.sin(), 2, dim=-1).to(x)
    return x * cos + rotate_every_two(x) * sin
