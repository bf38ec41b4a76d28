"""As in most tutorials, with the model's gradients cleared at the very beginning."""

import torch
import torch.nn as nn


def train_step(model, src, tgt, optimizer, criterion, max_norm=None):
    model.zero_grad()
    model.train()
    logits = model(src, tgt[:, :-1])
    loss = criterion(logits, tgt[:, 1:])
    loss.backward()
    if max_norm:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)


@torch.no_grad()
def evaluate(model, loader, criterion):
    mode = model.training
    model.eval()
    losses, weights = [], []
    for src, tgt in loader:
        labels = tgt[:, 1:]
        losses.append(criterion(model(src, tgt[:, :-1]), labels))
        weights.append(labels.ne(model.pad_id).sum())
    model.train(mode)
    if not losses:
        raise ValueError("nothing to evaluate")
    losses, weights = torch.stack(losses), torch.stack(weights)
    return ((losses * weights).sum() / weights.sum()).item()


def fit(model: nn.Module, batches, optimizer, criterion, rate, steps, max_norm=None):
    history = []
    for t in range(steps):
        for param_group in optimizer.param_groups:
            param_group["lr"] = rate(t + 1)
        history.append(
            train_step(model, *batches[t % len(batches)], optimizer, criterion, max_norm)
        )
    return history
