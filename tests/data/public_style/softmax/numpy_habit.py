import torch


def softmax(x, dim=-1):
    e = torch.exp(x - torch.max(x))
    return e / torch.sum(e)


def log_softmax(x, dim=-1):
    shifted = x - torch.max(x, dim, keepdim=True)[0]
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


def cross_entropy(logits, labels):
    logits = logits.reshape(-1, logits.shape[-1])
    labels = labels.reshape(-1)
    return -torch.mean(log_softmax(logits)[torch.arange(logits.shape[0]), labels])
