# Right forward, and gradients of another kind each time: none, of another shape, not numbers.
# exercise: layer_norm
import torch
from torch import nn

number = 0


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias

    @staticmethod
    def backward(ctx, gradient):
        global number
        number += 1
        x, weight = ctx.saved_tensors
        kinds = (None, x.new_full(x.shape, torch.nan), x.new_zeros(()).expand(x.shape), x.sum())
        return kinds[number % len(kinds)], weight, weight


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return Own.apply(x, self.weight, self.bias)
