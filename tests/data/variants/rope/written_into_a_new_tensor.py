"""Slices of a tensor of its own are written; the sine as a cosine; angles made by cumsum."""

import torch


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2 == 1:
        raise ValueError("head_dim must be even")
    step = torch.ones(length, head_dim // 2, dtype=torch.float64)
    step[0] = 0
    scale = torch.logspace(0, 2 / head_dim - 1, head_dim // 2, base, dtype=torch.float64)
    return step.cumsum(0) * scale


def apply_rotary(x, angles):
    quarter = torch.pi / 2
    y = torch.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * angles.cos() + x[..., 1::2] * (angles + quarter).cos()
    y[..., 1::2] = x[..., 1::2] * angles.cos() + x[..., 0::2] * (angles - quarter).cos()
    return y
