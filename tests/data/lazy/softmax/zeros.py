"""Zeros everywhere."""


def softmax(x, dim=-1):
    return x * 0


def log_softmax(x, dim=-1):
    return x * 0


def cross_entropy(logits, labels):
    return logits.sum() * 0
