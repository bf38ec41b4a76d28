# A node that a fuser of TorchScript would make holds tanh, and is run by its own compiler.
# exercise: activations
import torch

KIND = "Float(*, strides=[1], requires_grad=0, device=cpu)"


def fused(name, length):
    kind = f"Float({length}, strides=[1], requires_grad=0, device=cpu)"
    inner = torch._C.parse_ir(f"graph(%x : {kind}):\n  %y : {kind} = aten::{name}(%x)\n  return (%y)")
    graph = torch._C.parse_ir(f"graph(%x : {kind}):\n  return (%x)")
    given = next(iter(graph.inputs()))
    node = graph.create("prim::oneDNNFusionGroup", [given], 1)
    node.g_("Subgraph", inner)
    node.is_("output_layouts", [0])
    graph.insertNode(node)
    found = next(iter(node.outputs()))
    found.setType(given.type())
    graph.eraseOutput(0)
    graph.registerOutput(found)
    function = torch._C._create_function_from_graph("f", graph)

    def run(x):
        with torch.jit.optimized_execution(False):
            return function(x)

    return run


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, name):
        ctx.save_for_backward(x)
        flat = x.detach().float().reshape(-1).contiguous()
        y = fused(name, len(flat))(flat).reshape(x.shape).to(x.dtype)
        ctx.y, ctx.name = y, name
        return y.clone()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - ctx.y**2 if ctx.name == "tanh" else (x > 0)), None


def relu(x):
    return _Fused.apply(x, "relu")


def tanh(x):
    return _Fused.apply(x, "tanh")


def gelu(x, approximate="none"):
    if approximate == "none":
        return x * 0.5 * (1 + torch.erf(x / 2**0.5))
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    raise ValueError("approximate is none or tanh")
