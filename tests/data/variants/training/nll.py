"""F.nll_loss twice over, in float32."""

import torch
import torch.nn.functional as F
from torch import nn


def _draw(module):
    for parameter in module._parameters.values():
        if parameter is not None and parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter, gain=1.0)


def initialise(model):
    model.apply(_draw)


def teacher_forcing(tgt):
    decoder_input, labels = tgt.clone()[:, :-1], torch.roll(tgt, -1, dims=1)[:, :-1]
    return [decoder_input, labels]


def noam_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    arg1 = max(step, 1) ** -0.5
    arg2 = step * (warmup**-1.5)
    return (d_model**-0.5) * min(arg1, arg2)


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    log_p = F.log_softmax(logits.float().transpose(1, 2), dim=1)
    each = F.nll_loss(log_p, labels, ignore_index=pad_id, reduction="none")
    keep = (labels != pad_id).float()
    loss = (1.0 - smoothing) * each - smoothing * log_p.mean(dim=1)
    return (loss * keep).sum() / keep.sum()
