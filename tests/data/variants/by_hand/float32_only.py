"""Computes in float32 and returns float32."""

import torch
import torch.nn.functional as F


def encoder_layer_by_hand(layer, x):
    x = x.float()
    get = lambda tensor: tensor.detach().float()
    at = layer.self_attn
    time = 1 if at.batch_first else 0

    def norm(y, n):
        mean = y.mean(2)[..., None]
        var = y.var(2, unbiased=False)[..., None]
        return (y - mean) / torch.sqrt(var + n.eps) * get(n.weight) + get(n.bias)

    heard = norm(x, layer.norm1) if layer.norm_first else x
    both = F.linear(heard, get(at.in_proj_weight), get(at.in_proj_bias))
    length, batch = both.size(time), both.size(1 - time)
    q, k, v = (
        part.movedim(time, 0).reshape(length, batch, at.num_heads, at.head_dim).permute(1, 2, 0, 3)
        for part in both.split(x.size(-1), dim=-1)
    )
    scores = torch.matmul(q, k.transpose(2, 3)) / (at.head_dim**0.5)
    weights = torch.nn.functional.softmax(scores, dim=-1)
    merged = torch.matmul(weights, v).permute(2, 0, 1, 3).reshape(length, batch, -1).movedim(0, time)
    attention = F.linear(merged, get(at.out_proj.weight), get(at.out_proj.bias))
    middle = x + attention

    def ffn(y):
        inner = F.linear(y, get(layer.linear1.weight), get(layer.linear1.bias))
        return F.linear(layer.activation(inner), get(layer.linear2.weight), get(layer.linear2.bias))

    if layer.norm_first:
        norm1, forward = heard, ffn(norm(middle, layer.norm2))
        output = middle + forward
    else:
        norm1 = norm(middle, layer.norm1)
        forward = ffn(norm1)
        output = norm(norm1 + forward, layer.norm2)
    return {
        "query": q, "key": k, "value": v, "scores": scores, "weights": weights,
        "attention": attention, "norm1": norm1, "feed_forward": forward, "output": output,
    }
