"""All scores get the same share."""

import torch


def softmax(x, dim=-1):
    return torch.full_like(x, 1 / x.shape[dim])


def log_softmax(x, dim=-1):
    return torch.full_like(x, 1 / x.shape[dim]).log()


def cross_entropy(logits, labels):
    return torch.tensor(float(logits.shape[-1]), dtype=logits.dtype).log()
