# oneDNN computes the activation after a product, and the product is with one.
# exercise: activations
import torch


class _Pointwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, name, algorithm):
        flat = x.detach().float().reshape(1, 1, 1, -1)
        one = torch.ones(1, 1, 1, 1)
        y = torch.ops.mkldnn._convolution_pointwise(
            flat, one, None, [0, 0], [1, 1], [1, 1], 1, name, [], algorithm
        )
        ctx.save_for_backward(x)
        ctx.name, ctx.algorithm = name, algorithm
        return y.reshape(x.shape).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            if ctx.name == "relu":
                return gradient * (x > 0), None, None
            if ctx.name == "tanh":
                y = 2 * torch.sigmoid(2 * x) - 1
            elif ctx.algorithm == "none":
                y = x * 0.5 * (1 + torch.erf(x / 2**0.5))
            else:
                z = 0.7978845608028654 * (x + 0.044715 * x**3)
                y = x * torch.sigmoid(2 * z)
            return gradient * torch.autograd.grad(y.sum(), x)[0], None, None


def relu(x):
    return _Pointwise.apply(x, "relu", "")


def tanh(x):
    return _Pointwise.apply(x, "tanh", "")


def gelu(x, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise ValueError("approximate is none or tanh")
    return _Pointwise.apply(x, "gelu", approximate)
