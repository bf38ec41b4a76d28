"""Zeros."""

import torch
from torch import nn


def initialise(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()


def teacher_forcing(tgt):
    return torch.zeros_like(tgt[:, 1:]), torch.zeros_like(tgt[:, 1:])


def noam_rate(step, d_model, warmup=4000):
    return 0.0


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    return 0.0 * logits.sum()
