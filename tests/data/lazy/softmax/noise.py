"""Random numbers of the right shape."""

import torch


def softmax(x, dim=-1):
    return torch.randn_like(x)


def log_softmax(x, dim=-1):
    return torch.randn_like(x)


def cross_entropy(logits, labels):
    return torch.randn(())
