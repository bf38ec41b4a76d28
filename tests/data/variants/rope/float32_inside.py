"""A lesson's own way: complex64 throughout, and type_as at the end."""

import torch


def rotary_angles(head_dim: int, length: int, base: float = 10000.0):
    if head_dim % 2 != 0:
        raise ValueError("维度必须是偶数")
    theta = 1.0 / torch.pow(base, torch.arange(0, head_dim, 2).float() / head_dim)
    return torch.einsum("l,i->li", torch.arange(length).float(), theta)


def apply_rotary(x, angles):
    x_ = torch.view_as_complex(x.float().contiguous().view(*x.shape[:-1], -1, 2))
    turn = torch.complex(angles.float().cos(), angles.float().sin())
    return torch.view_as_real(x_ * turn).reshape(x.shape).to(x.dtype)
