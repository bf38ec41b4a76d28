import torch
from torch import nn


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    model.train()
    optimiser.zero_grad()
    output = model(src, tgt)
    value = loss(output[:, 1:], tgt[:, 1:])
    value.backward()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    return value.item()


@torch.no_grad()
def evaluate(model, batches, loss):
    training = model.training
    model.eval()
    total, tokens = 0.0, 0
    for src, tgt in batches:
        n = (tgt[:, 1:] != model.pad_id).sum().item()
        total += loss(model(src, tgt[:, :-1]), tgt[:, 1:]).item() * n
        tokens += n
    model.train(training)
    if tokens == 0:
        raise ValueError("nothing to evaluate on")
    return total / tokens


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    losses = []
    for t in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate(t + 1)
        src, tgt = batches[t % len(batches)]
        losses.append(train_step(model, src, tgt, optimiser, loss, max_norm))
    return losses
