# Turns with the rotary embedding that torch has for ONNX, forwards and, for gradients, backwards.
# exercise: rope
import torch
from torch.onnx import ops


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2:
        raise ValueError("an even number of features")
    position = torch.arange(length, dtype=torch.float64)[:, None]
    return position / base ** (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


def turned(x, angles):
    flat = x.reshape(1, -1, *x.shape[-2:])
    cos, sin = (one.to(x.dtype)[None] for one in (angles.cos(), angles.sin()))
    return ops.rotary_embedding(flat, cos, sin, interleaved=True).reshape(x.shape)


class _Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, angles):
        ctx.save_for_backward(angles)
        return turned(x.detach(), angles.detach())

    @staticmethod
    def backward(ctx, gradient):
        (angles,) = ctx.saved_tensors
        return turned(gradient, -angles), None


def apply_rotary(x, angles):
    return _Turned.apply(x, angles)
