"""Torch's cross entropy without smoothing, and the mean over all words beside it."""

import math

import torch
import torch.nn.functional as F


def initialise(model):
    seen = set()
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if parameter.ndim < 2 or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            fan_in, fan_out = torch.nn.init._calculate_fan_in_and_fan_out(parameter)
            bound = math.sqrt(6 / (fan_in + fan_out))
            with torch.no_grad():
                parameter.uniform_(-bound, bound)


def teacher_forcing(tgt):
    source = tgt.clone()
    return source[..., :-1].contiguous(), source[..., 1:].contiguous()


def noam_rate(step, d_model, warmup=4000):
    if not step:
        return 0
    if step < warmup:
        return step / (math.sqrt(d_model) * warmup * math.sqrt(warmup))
    return 1 / math.sqrt(d_model * step)


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    flat, wanted = logits.reshape(-1, logits.size(-1)), labels.reshape(-1)
    sharp = F.cross_entropy(flat, wanted, ignore_index=pad_id)
    keep = wanted.ne(pad_id)
    even = -(F.log_softmax(flat, dim=-1).sum(-1) * keep).sum() / (keep.sum() * flat.size(-1))
    return torch.lerp(sharp, even, smoothing)
