"""Nothing."""


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    return None


def evaluate(model, batches, loss):
    return None


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    return None
