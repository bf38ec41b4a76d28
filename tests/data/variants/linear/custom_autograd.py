"""The gradients written by hand."""

import torch
from torch import nn


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x.matmul(weight.t())

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        rows, outputs = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
        return grad.matmul(weight), outputs.t().matmul(rows)


class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        bound = in_features ** (-1 / 2)
        self.weight = nn.Parameter(torch.zeros(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-bound, bound)

    def forward(self, x):
        y = Product.apply(x, self.weight)
        return y if self.bias is None else torch.add(y, self.bias)
