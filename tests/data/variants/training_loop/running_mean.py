"""Evaluation as a running mean; gradients are cleared through the optimiser's groups."""

import torch

from exercises import training


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    for group in optimiser.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.zero_()
    model.train()
    with torch.enable_grad():
        l = loss(model(src, training.teacher_forcing(tgt)[0]), training.teacher_forcing(tgt)[1])
    l.backward()
    if max_norm is not None:
        total = sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None).sqrt()
        if total > max_norm:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.mul_(max_norm / (total + 1e-6))
    optimiser.step()
    return l.item()


def evaluate(model, batches, loss):
    batches = list(batches)
    if len(batches) == 0:
        raise ValueError("cannot evaluate on nothing")
    training_before = model.training
    mean, seen = 0.0, 0
    for src, tgt in batches:
        model.eval()
        with torch.no_grad():
            n = (tgt[:, 1:] != model.pad_id).sum().item()
            seen += n
            mean += (loss(model(src, tgt[:, :-1]), tgt[:, 1:]).item() - mean) * n / seen
    model.train(training_before)
    return mean


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    order = [batches[number % len(batches)] for number in range(steps)]
    losses = []
    for number, (src, tgt) in enumerate(order, 1):
        for group in optimiser.param_groups:
            group["lr"] = float(rate(number))
        losses.append(train_step(model, src, tgt, optimiser, loss, max_norm=max_norm))
    return losses
