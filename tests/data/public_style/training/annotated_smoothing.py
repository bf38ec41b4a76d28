import torch
from torch import nn


def initialise(model):
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)


def teacher_forcing(tgt):
    return tgt[:, :-1], tgt[:, 1:]


def noam_rate(step, d_model, warmup=4000):
    return 0.0 if step == 0 else d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.size, self.padding_idx, self.smoothing = size, padding_idx, smoothing

    def forward(self, x, target):
        true_dist = torch.zeros_like(x)
        true_dist.fill_(self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.unsqueeze(1), 1.0 - self.smoothing)
        true_dist[:, self.padding_idx] = 0
        true_dist[target == self.padding_idx] = 0.0
        return self.criterion(x, true_dist)


def label_smoothed_loss(logits, labels, pad_id=0, smoothing=0.1):
    size = logits.size(-1)
    x = logits.log_softmax(-1).contiguous().view(-1, size)
    criterion = LabelSmoothing(size, pad_id, smoothing)
    return criterion(x, labels.contiguous().view(-1)) / (labels != pad_id).sum()
