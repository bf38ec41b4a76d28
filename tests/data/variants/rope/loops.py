"""One position and one pair after the other, in Python."""

import torch


def rotary_angles(head_dim, length, base=10000.0):
    assert not head_dim % 2
    table = torch.zeros(length, head_dim // 2)
    for pos in range(length):
        for i in range(head_dim // 2):
            table[pos, i] = pos / base ** (2 * i / head_dim)
    return table


def apply_rotary(x, angles):
    out = []
    for i in range(x.size(-1) // 2):
        a, b = x.select(-1, 2 * i), x.select(-1, 2 * i + 1)
        c, s = torch.cos(angles[:, i]).to(x.dtype), torch.sin(angles[:, i]).to(x.dtype)
        out += [a * c - b * s, b * c + a * s]
    return torch.stack(out, dim=-1)
