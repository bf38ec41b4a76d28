"""Complex numbers, as Llama's own code has it, in the precision of x."""

import torch


def rotary_angles(head_dim, length, base=10000.0):
    assert head_dim % 2 == 0, "head_dim must be even"
    freqs = 1.0 / (base ** (torch.arange(0, head_dim, 2)[: (head_dim // 2)].float() / head_dim))
    t = torch.arange(length, device=freqs.device)
    return torch.outer(t, freqs).float()


def apply_rotary(x, angles):
    wide = x if x.dtype == torch.float64 else x.float()
    angles = angles.to(wide.dtype)
    freqs_cis = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(wide.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis).flatten(-2).type_as(x)
