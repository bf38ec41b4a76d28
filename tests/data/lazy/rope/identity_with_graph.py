"""The input is handed back, as another tensor."""

import torch


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2:
        raise ValueError("odd")
    return torch.eye(length, head_dim // 2)


def apply_rotary(x, angles):
    return x + 0
