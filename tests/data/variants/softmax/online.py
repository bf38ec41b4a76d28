"""One score after the other along the axis, with a running maximum and a running sum."""

import torch


def _totals(x, dim):
    largest, total = None, None
    for score in x.unbind(dim):
        if largest is None:
            largest, total = score, torch.ones_like(score)
            continue
        new = torch.maximum(largest, score)
        safe = torch.where(torch.isinf(new), torch.zeros_like(new), new)
        total = total * torch.exp(largest - safe) + torch.exp(score - safe)
        largest = new
    return largest.unsqueeze(dim), total.unsqueeze(dim)


def softmax(x, dim=-1):
    largest, total = _totals(x, dim)
    return torch.exp(x - largest) / total


def log_softmax(x, dim=-1):
    largest, total = _totals(x, dim)
    return x - largest - torch.log(total)


def cross_entropy(logits, labels):
    hit = torch.zeros_like(logits, dtype=torch.bool).scatter_(-1, labels.unsqueeze(-1), True)
    return -torch.where(hit, log_softmax(logits), 0).sum() / labels.numel()
