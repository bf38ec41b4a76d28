"""Ones everywhere."""


def softmax(x, dim=-1):
    return x * 0 + 1


def log_softmax(x, dim=-1):
    return x * 0 + 1


def cross_entropy(logits, labels):
    return logits.sum() * 0 + 1
