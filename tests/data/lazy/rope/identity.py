"""The input is handed back, and the numbers of the positions."""

import torch


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2:
        raise ValueError("odd")
    return torch.arange(length).float()[:, None].repeat(1, head_dim // 2)


def apply_rotary(x, angles):
    return x
