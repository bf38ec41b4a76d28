"""Refuses everything."""


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    raise ValueError("no")


def evaluate(model, batches, loss):
    raise ValueError("no")


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    raise ValueError("no")
