"""Evaluates sentence by sentence, and cuts the logits rather than the target in evaluation."""

import torch
from torch import nn


class Trainer:
    """Holds what does not change from step to step."""

    def __init__(self, model, optimiser, loss, max_norm):
        self.model, self.optimiser, self.loss, self.max_norm = model, optimiser, loss, max_norm

    def step(self, src, tgt):
        self.model.train()
        for parameter in self.model.parameters():
            parameter.grad = None
        value = self.loss(
            self.model(src, tgt.narrow(1, 0, tgt.size(1) - 1)), tgt.narrow(1, 1, tgt.size(1) - 1)
        )
        torch.autograd.backward(value)
        self.clip()
        self.optimiser.step()
        return value.item()

    def clip(self):
        if self.max_norm is None:
            return
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        nn.utils.clip_grads_with_norm_(self.model.parameters(), self.max_norm, norm)


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    return Trainer(model, optimiser, loss, max_norm).step(src, tgt)


def evaluate(model, batches, loss):
    was = model.training
    model.eval()
    total, count = torch.zeros((), dtype=torch.float64), 0
    with torch.no_grad():
        for src, tgt in batches:
            for row in range(len(src)):
                s, t = src[row : row + 1], tgt[row : row + 1]
                labels = t[:, 1:]
                words = labels[labels != model.pad_id].numel()
                total += loss(model(s, t)[:, :-1], labels) * words
                count += words
    model.train(was)
    if count == 0:
        raise ValueError("an evaluation needs a batch")
    return float(total / count)


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    trainer = Trainer(model, optimiser, loss, max_norm)
    losses = []
    for step, (src, tgt) in zip(range(steps), forever(batches), strict=False):
        for group in optimiser.param_groups:
            group["lr"] = rate(step + 1)
        losses.append(trainer.step(src, tgt))
    return losses


def forever(batches):
    while True:
        yield from batches
