"""Computes in float32 and casts back; the maximum is kept out of the graph."""

import torch


def _parts(x, dim):
    z = x.float()
    with torch.no_grad():
        m = torch.amax(z, dim, keepdim=True)
    z = z - m
    return z, z.exp().sum(dim, keepdim=True)


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    z, total = _parts(x, dim)
    return (z.exp() * total.reciprocal()).to(x.dtype)


def log_softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    z, total = _parts(x, dim)
    return (z - total.log()).type_as(x)


def cross_entropy(logits, labels):
    total = 0.0
    rows = logits.float().reshape(-1, logits.shape[-1])
    for row, label in zip(rows, labels.reshape(-1).tolist(), strict=True):
        top = row.max()
        total = total + (row - top).exp().sum().log() + top - row[label]
    return (total / len(rows)).to(logits.dtype)
