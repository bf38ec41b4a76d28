"""Nothing."""

import torch
from torch import nn


def initialise(model):
    with torch.no_grad():
        for parameter in model.parameters():
            pass


def teacher_forcing(tgt):
    return None


def noam_rate(step, d_model, warmup=4000):
    return None


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    return None
