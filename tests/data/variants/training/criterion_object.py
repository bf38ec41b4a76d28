"""A criterion of torch's, made once, and a matrix product with the smoothed labels."""

import torch
from torch import nn

XAVIER = nn.init.xavier_uniform_
PLAIN = nn.CrossEntropyLoss(reduction="sum", ignore_index=-7)


def initialise(model):
    for name, parameter in model.state_dict(keep_vars=True).items():
        if isinstance(parameter, nn.Parameter) and parameter.dim() >= 2:
            XAVIER(parameter)


def teacher_forcing(tgt):
    return torch.split(tgt, [tgt.size(1) - 1, 1], 1)[0], torch.split(tgt, [1, tgt.size(1) - 1], 1)[1]


def noam_rate(step, d_model, warmup=4000):
    rate = lambda s: d_model ** (-0.5) * min(s ** (-0.5), s * warmup ** (-1.5))
    return rate(step) if step > 0 else 0.0


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    labels = torch.where(labels == pad_id, -7, labels).flatten()
    logits = logits.flatten(end_dim=1)
    words = labels != -7
    sharp = PLAIN(logits, labels)
    even = (logits.logsumexp(-1) - logits.mean(-1))[words].sum()
    return ((1 - smoothing) * sharp + smoothing * even) / words.sum()
