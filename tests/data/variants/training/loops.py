"""Place by place, with a logsumexp by hand."""

import torch


def _drawn(shape):
    fan_out, fan_in, *rest = shape
    area = 1
    for size in rest:
        area *= size
    bound = (6 / (area * (fan_in + fan_out))) ** 0.5
    return (2 * torch.rand(*shape) - 1) * bound


def initialise(model: torch.nn.Module):
    for parameter in model.parameters():
        if parameter.dim() != 0 and parameter.dim() != 1:
            parameter.data = _drawn(parameter.shape)


def teacher_forcing(tgt):
    rows = tgt.tolist()
    return torch.tensor([row[:-1] for row in rows]), torch.tensor([row[1:] for row in rows])


def noam_rate(step, d_model, warmup=4000):
    try:
        return min(step**-0.5, step * warmup**-1.5) / d_model**0.5
    except ZeroDivisionError:
        return 0.0


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    total, count = 0.0, 0
    for row, wanted in zip(logits, labels):
        for place, label in zip(row, wanted):
            if label == pad_id:
                continue
            place = place - place.max().detach()
            surprise = place.exp().sum().log() - place
            total = total + (1 - smoothing) * surprise[label] + smoothing * surprise.mean()
            count += 1
    return total / count
