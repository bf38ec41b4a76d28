"""Noise."""

import torch
from torch import nn


def initialise(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()


def teacher_forcing(tgt):
    return torch.randint_like(tgt[:, 1:], 50), torch.randint_like(tgt[:, 1:], 50)


def noam_rate(step, d_model, warmup=4000):
    return torch.rand(()).item()


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    return torch.rand(()) + 0.0 * logits.sum()
