# The kernel of tensor expressions computes tanh from a graph that is written by hand.
# exercise: activations
import torch

torch._C._jit_set_te_must_use_llvm_cpu(False)


def kernel(name, length):
    kind = f"Float({length}, strides=[1], requires_grad=0, device=cpu)"
    graph = torch._C.parse_ir(f"graph(%x : {kind}):\n  %y : {kind} = {name}\n  return (%y)")
    return torch._C._te.TensorExprKernel(graph)


class _Expression(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, name):
        ctx.save_for_backward(x)
        flat = x.detach().float().reshape(-1).contiguous()
        y = kernel(f"aten::{name}(%x)", len(flat)).run((flat,)).reshape(x.shape).to(x.dtype)
        ctx.y, ctx.name = y, name
        return y.clone()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - ctx.y**2 if ctx.name == "tanh" else (x > 0)), None


def relu(x):
    return _Expression.apply(x, "relu")


def tanh(x):
    return _Expression.apply(x, "tanh")


def gelu(x, approximate="none"):
    if approximate == "none":
        return x * 0.5 * (1 + torch.erf(x / 2**0.5))
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    raise ValueError("approximate is none or tanh")
