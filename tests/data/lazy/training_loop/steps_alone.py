"""Steps without gradients."""


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    optimiser.step()
    return 1.0


def evaluate(model, batches, loss):
    model.eval()
    return 1.0


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    for step in range(steps):
        optimiser.step()
    return [1.0] * steps
