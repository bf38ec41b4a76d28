"""The Kullback-Leibler divergence, with the entropy of the labels added again."""

import torch
from torch import nn


@torch.no_grad()
def initialise(model):
    for p in model.parameters():
        if p.dim() > 1:
            p.copy_(nn.init.xavier_uniform_(torch.empty_like(p)))


def teacher_forcing(tgt):
    places = torch.arange(tgt.size(1))
    return tgt.index_select(1, places[:-1]), tgt.index_select(1, places[1:])


def noam_rate(step, d_model, warmup=4000):
    step = torch.tensor(float(step), dtype=torch.float64)
    rate = d_model**-0.5 * torch.minimum(step.rsqrt(), step * warmup**-1.5)
    return rate.item()


class _Loss(nn.Module):
    def __init__(self, pad_id, smoothing):
        super().__init__()
        self.pad_id, self.smoothing = pad_id, smoothing
        self.criterion = nn.KLDivLoss(reduction="none")

    def forward(self, x, target):
        x = x.log_softmax(-1).flatten(0, 1)
        target = target.flatten()
        pad = target == self.pad_id
        wanted = torch.full_like(x, self.smoothing / x.size(1))
        confidence = 1 - self.smoothing + self.smoothing / x.size(1)
        wanted.scatter_(1, target.masked_fill(pad, 0)[:, None], confidence)
        loss = self.criterion(x, wanted) - torch.xlogy(wanted, wanted)
        loss = loss.sum(1).masked_fill(pad, 0.0)
        return loss.sum() / (~pad).sum()


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    return _Loss(pad_id, smoothing)(logits, labels)
