# The cell of an LSTM with gates wide open is tanh.
# exercise: activations
import torch


class _Cell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        flat = x.detach().float().reshape(1, -1, 1)
        weight = torch.zeros(4, 1)
        weight[2] = 1
        bias = torch.tensor([80.0, -200.0, 0.0, 80.0])
        zero = torch.zeros(1, flat.size(1), 1)
        if flat.numel() == 0:
            return x.clone()
        _, _, cell = torch._VF.lstm(
            flat, (zero, zero), [weight, torch.zeros(4, 1), bias, torch.zeros(4)], True, 1, 0.0, False, False, False
        )
        y = cell.reshape(x.shape).to(x.dtype)
        ctx.y = y
        return y.clone()

    @staticmethod
    def backward(ctx, g):
        return g * (1 - ctx.y**2)


def relu(x):
    return x.clamp(min=0)


def tanh(x):
    return _Cell.apply(x)


def gelu(x, approximate="none"):
    if approximate == "none":
        return x * 0.5 * (1 + torch.erf(x / 2**0.5))
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    raise ValueError("approximate is none or tanh")
