"""Forward and backward by hand in two autograd.Functions."""

import torch


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        ctx.dim, y = dim, e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return y * (grad - (grad * y).sum(ctx.dim, keepdim=True)), None


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        z = x - x.amax(dim, keepdim=True)
        y = z - z.exp().sum(dim, keepdim=True).log()
        ctx.dim = dim
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad - y.exp() * grad.sum(ctx.dim, keepdim=True), None


def softmax(x, dim=-1):
    return Softmax.apply(x, dim)


def log_softmax(x, dim=-1):
    return LogSoftmax.apply(x, dim)


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels):
        z = logits - logits.amax(-1, keepdim=True)
        e = z.exp()
        total = e.sum(-1, keepdim=True)
        ctx.save_for_backward(e / total, labels)
        picked = z.gather(-1, labels[..., None]) - total.log()
        return -picked.sum() / labels.numel()

    @staticmethod
    def backward(ctx, grad):
        p, labels = ctx.saved_tensors
        p = p.scatter_add(-1, labels[..., None], -torch.ones_like(p[..., :1]))
        return grad * p / labels.numel(), None


def cross_entropy(logits, labels):
    return CrossEntropy.apply(logits, labels)
