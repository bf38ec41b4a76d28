"""Builds linear maps of its own from the weights; the layer's own are never called."""

import math

import torch
from torch import nn


def linear(weight, bias):
    made = nn.Linear(weight.size(1), weight.size(0), dtype=weight.dtype)
    made.weight.data, made.bias.data = weight.data.clone(), bias.data.clone()
    return nn.Sequential(made, nn.Dropout(0.0)).eval()


class Norm(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps

    def forward(self, y):
        variance, mean = torch.var_mean(y, dim=-1, correction=0, keepdim=True)
        return (y - mean) / (variance + self.eps).sqrt() * self.weight + self.bias


@torch.no_grad()
def encoder_layer_by_hand(layer, x):
    attn = layer.self_attn
    first = attn.batch_first
    swap = (lambda y: y) if first else (lambda y: y.transpose(0, 1))
    x = swap(x)
    heads = lambda y: y.unflatten(-1, (attn.num_heads, -1)).transpose(1, 2)
    maps = [
        linear(w, b)
        for w, b in zip(attn.in_proj_weight.chunk(3), attn.in_proj_bias.chunk(3))
    ]
    out_proj = linear(attn.out_proj.weight, attn.out_proj.bias)
    up = linear(layer.linear1.weight, layer.linear1.bias)
    down = linear(layer.linear2.weight, layer.linear2.bias)
    norm1, norm2 = Norm(layer.norm1), Norm(layer.norm2)

    steps = {}
    y = norm1(x) if layer.norm_first else x
    steps["query"], steps["key"], steps["value"] = (heads(m(y)) for m in maps)
    d_head = steps["query"].shape[-1]
    steps["scores"] = torch.einsum("bhqd,bhkd->bhqk", steps["query"] / math.sqrt(d_head), steps["key"])
    steps["weights"] = torch.softmax(steps["scores"], dim=-1)
    mixed = torch.einsum("bhqk,bhkd->bqhd", steps["weights"], steps["value"]).flatten(2)
    steps["attention"] = out_proj(mixed)
    middle = x + steps["attention"]
    steps["norm1"] = y if layer.norm_first else norm1(middle)
    steps["feed_forward"] = down(
        layer.activation(up(norm2(middle) if layer.norm_first else steps["norm1"]))
    )
    steps["output"] = (
        middle + steps["feed_forward"]
        if layer.norm_first
        else norm2(steps["norm1"] + steps["feed_forward"])
    )
    for name in ("attention", "norm1", "feed_forward", "output"):
        steps[name] = swap(steps[name])
    return steps
