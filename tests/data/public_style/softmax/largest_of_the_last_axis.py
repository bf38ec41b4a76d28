import torch


def softmax(x, dim=-1):
    e = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return e / e.sum(dim=dim, keepdim=True)


def log_softmax(x, dim=-1):
    m = x.max(dim=-1, keepdim=True).values
    return x - m - torch.log(torch.exp(x - m).sum(dim=dim, keepdim=True))


def cross_entropy(logits, labels):
    logp = log_softmax(logits).flatten(0, -2)
    return -logp[torch.arange(logp.size(0)), labels.flatten()].mean()
