"""Each feature times a cosine."""

import torch


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2:
        raise ValueError("odd")
    return torch.rand(length, head_dim // 2)


def apply_rotary(x, angles):
    return x * angles.cos().to(x).repeat_interleave(2, -1)
