"""All goes to the largest score."""

import torch


def softmax(x, dim=-1):
    return (x == x.amax(dim, keepdim=True)).to(x.dtype)


def log_softmax(x, dim=-1):
    return torch.where(x == x.amax(dim, keepdim=True), 0.0, -1e4).to(x.dtype)


def cross_entropy(logits, labels):
    return (logits.amax(-1) - logits.gather(-1, labels[..., None])[..., 0]).mean()
