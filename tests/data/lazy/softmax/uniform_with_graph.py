"""All scores get the same share, and a gradient of zero."""

import torch


def softmax(x, dim=-1):
    return x * 0 + 1 / x.shape[dim]


def log_softmax(x, dim=-1):
    return x * 0 - torch.tensor(float(x.shape[dim])).log()


def cross_entropy(logits, labels):
    return logits.sum() * 0 + torch.tensor(float(logits.shape[-1])).log()
