"""Zeros."""


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    return 0.0


def evaluate(model, batches, loss):
    return 0.0


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    return [0.0] * steps
