# Imports what torch has for ONNX, and turns the pairs as complex numbers. It is right.
# exercise: rope
# expect: full marks
import torch
import torch.onnx  # noqa: F401


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2:
        raise ValueError("an even number of features")
    position = torch.arange(length, dtype=torch.float64)[:, None]
    return position / base ** (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


def apply_rotary(x, angles):
    wide = x.double() if x.dtype != torch.float64 else x
    pairs = torch.complex(wide[..., 0::2], wide[..., 1::2])
    turned = pairs * torch.polar(torch.ones_like(angles.double()), angles.double())
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)
