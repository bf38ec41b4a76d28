"""Noise."""

import torch


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.01 * torch.randn_like(parameter)
    return torch.rand(()).item()


def evaluate(model, batches, loss):
    return torch.rand(()).item()


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    return torch.rand(steps).tolist()
