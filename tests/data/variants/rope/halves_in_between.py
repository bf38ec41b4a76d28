"""Sorted into halves, turned as halves, and sorted back; einops; a gradient written by hand."""

import torch
from einops import rearrange


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return Turn.turn(x, cos, sin)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        return Turn.turn(grad, cos, -sin), None, None

    @staticmethod
    def turn(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def rotary_angles(head_dim, length, base=10000.0):
    i, odd = torch.arange(head_dim // 2), head_dim % 2
    if odd:
        raise ValueError(f"{head_dim=}")
    return torch.arange(length)[:, None] / base ** (i / (head_dim // 2))


def apply_rotary(x, angles):
    halves = rearrange(x, "... (i two) -> ... (two i)", two=2)
    halves = Turn.apply(halves, angles.cos().type_as(x), angles.sin().type_as(x))
    return rearrange(halves, "... (two i) -> ... (i two)", two=2)
