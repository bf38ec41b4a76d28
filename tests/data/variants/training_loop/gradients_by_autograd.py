"""Asks autograd for the gradients and puts them where the optimiser looks; clips by its own hand."""

import torch


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    model.train(True)
    parameters = [p for p in model.parameters() if p.requires_grad]
    value = loss(model.forward(src=src, tgt=tgt[:, : tgt.size(1) - 1]), tgt[:, 1:])
    gradients = torch.autograd.grad(value, parameters, allow_unused=True)
    norm = torch.cat([g.flatten() for g in gradients if g is not None]).norm()
    factor = 1.0 if max_norm is None or norm <= max_norm else max_norm / norm
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = None if g is None else g * factor
    optimiser.step()
    return value.tolist()


def evaluate(model, batches, loss):
    training = model.training
    grad = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    model.eval()
    try:
        total, labels = 0.0, 0
        for batch in batches:
            src, tgt = batch[0], batch[1]
            n = int(torch.count_nonzero(tgt[:, 1:] - model.pad_id))
            total += float(loss(model(src, tgt[:, :-1]), tgt[:, 1:])) * n
            labels += n
    finally:
        model.train(training)
        torch.set_grad_enabled(grad)
    if labels == 0:
        raise ValueError("no batches to evaluate")
    return total / labels


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    losses = []
    while len(losses) < steps:
        for src, tgt in batches:
            if len(losses) == steps:
                break
            for number in range(len(optimiser.param_groups)):
                optimiser.param_groups[number]["lr"] = rate(len(losses) + 1)
            losses.append(train_step(model, src, tgt, optimiser, loss, max_norm))
    return losses
