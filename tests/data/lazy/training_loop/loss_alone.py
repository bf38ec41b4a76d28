"""Computes losses and trains nothing."""


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    return loss(model(src, tgt[:, :-1]), tgt[:, 1:]).item()


def evaluate(model, batches, loss):
    return [train_step(model, src, tgt, None, loss) for src, tgt in batches][0]


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    return [train_step(model, *batches[0], optimiser, loss)] * steps
