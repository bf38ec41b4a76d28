"""Writes the smoothed labels out, and hands them to F.cross_entropy as probabilities."""

import torch
import torch.nn.functional as F
from torch import nn


def initialise(model):
    for _, parameter in model.named_parameters():
        if len(parameter.shape) > 1:
            nn.init.xavier_uniform_(parameter.data)


def teacher_forcing(tgt):
    return tgt.narrow(1, 0, tgt.size(1) - 1), tgt.narrow(1, 1, tgt.size(1) - 1)


def noam_rate(step, d_model, warmup=4000):
    return 0.0 if step < 1 else (d_model**-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    keep = labels != pad_id
    logits, labels = logits[keep], labels[keep]
    words = logits.size(-1)
    wanted = F.one_hot(labels, words).to(logits.dtype) * (1 - smoothing) + smoothing / words
    return F.cross_entropy(logits, wanted)
