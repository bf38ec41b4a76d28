"""Batches by itertools, evaluation in inference mode, the mode put back by a context manager."""

import itertools
import math
from contextlib import contextmanager

import torch

from exercises.training import teacher_forcing


@contextmanager
def evaluating(model):
    training = model.training
    try:
        yield model.train(False)
    finally:
        if training:
            model.train()


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    optimiser.zero_grad(set_to_none=False)
    read, said = teacher_forcing(tgt)
    out = loss(model.train()(src, read), said)
    out.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), math.inf if max_norm is None else max_norm)
    optimiser.step()
    return out.detach().cpu().numpy().item()


def evaluate(model, batches, loss):
    sums = counts = 0
    with evaluating(model), torch.inference_mode():
        for src, tgt in batches:
            read, said = teacher_forcing(tgt)
            count = (said != model.pad_id).sum().item()
            sums += loss(model(src, read), said).item() * count
            counts += count
    assert counts, "no batches"
    return sums / counts


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    def one(number, batch):
        lr = rate(number)
        for group in optimiser.param_groups:
            group.update(lr=lr)
        return train_step(model, *batch, optimiser, loss, max_norm=max_norm)

    return list(map(one, range(1, steps + 1), itertools.cycle(batches)))
