"""In NumPy, with the error function of math for GELU."""

import math

import numpy as np
import torch


def encoder_layer_by_hand(layer, x):
    weights = {name: value.detach().numpy() for name, value in layer.named_parameters()}
    kind = x.dtype
    x = x.detach().numpy()
    if not layer.self_attn.batch_first:
        x = x.swapaxes(0, 1)
    is_relu = layer.activation(torch.tensor(-1.0)).item() == 0.0
    gelu = np.vectorize(lambda z: 0.5 * z * (1 + math.erf(z / math.sqrt(2))))

    def norm(y, name):
        mean, var = y.mean(-1, keepdims=True), y.var(-1, keepdims=True)
        eps = getattr(layer, name).eps
        return weights[name + ".weight"] * (y - mean) / np.sqrt(var + eps) + weights[name + ".bias"]

    def linear(y, name):
        return y @ weights[name + ".weight"].T + weights[name + ".bias"]

    def ffn(y):
        inner = linear(y, "linear1")
        return linear(np.maximum(inner, 0) if is_relu else gelu(inner), "linear2")

    steps = {}
    y = norm(x, "norm1") if layer.norm_first else x
    both = y @ weights["self_attn.in_proj_weight"].T + weights["self_attn.in_proj_bias"]
    cut = lambda z: z.reshape(*z.shape[:2], layer.self_attn.num_heads, -1).transpose(0, 2, 1, 3)
    q, k, v = (cut(z) for z in np.split(both, 3, axis=-1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    a = linear((p @ v).transpose(0, 2, 1, 3).reshape(x.shape), "self_attn.out_proj")
    r = x + a
    n = y if layer.norm_first else norm(r, "norm1")
    f = ffn(norm(r, "norm2") if layer.norm_first else n)
    out = r + f if layer.norm_first else norm(n + f, "norm2")
    back = (lambda z: z) if layer.self_attn.batch_first else (lambda z: z.swapaxes(0, 1))
    steps = {"query": q, "key": k, "value": v, "scores": scores, "weights": p}
    steps |= {"attention": back(a), "norm1": back(n), "feed_forward": back(f), "output": back(out)}
    return {name: torch.from_numpy(np.ascontiguousarray(z)).to(kind) for name, z in steps.items()}
