"""One head after the other, each with its rows of the fused weight."""

import torch


def encoder_layer_by_hand(layer, x):
    attn = layer.self_attn
    d, h = attn.embed_dim, attn.num_heads
    size = d // h
    W, b = attn.in_proj_weight, attn.in_proj_bias

    def norm(y, n):
        y = y - y.mean(-1, keepdim=True)
        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + n.eps) * n.weight + n.bias

    def attention(y):
        if not attn.batch_first:
            y = y.permute(1, 0, 2)
        found = {k: [] for k in ("query", "key", "value", "scores", "weights")}
        total = attn.out_proj.bias
        for i in range(h):
            q, k, v = (
                y @ W[o + i * size : o + (i + 1) * size].t() + b[o + i * size : o + (i + 1) * size]
                for o in (0, d, 2 * d)
            )
            s = torch.bmm(q, k.mT) / size**0.5
            e = (s - s.amax(-1, keepdim=True)).exp()
            w = e / e.sum(-1, keepdim=True)
            total = total + w @ v @ attn.out_proj.weight[:, i * size : (i + 1) * size].t()
            for name, part in zip(found, (q, k, v, s, w)):
                found[name].append(part)
        steps = {name: torch.stack(parts, dim=1) for name, parts in found.items()}
        return steps, total if attn.batch_first else total.permute(1, 0, 2)

    def ffn(y):
        inner = layer.activation(y @ layer.linear1.weight.T + layer.linear1.bias)
        return inner @ layer.linear2.weight.T + layer.linear2.bias

    n1 = norm(x, layer.norm1) if layer.norm_first else None
    steps, a = attention(x if n1 is None else n1)
    r = x + a
    if n1 is None:
        n1 = norm(r, layer.norm1)
        f = ffn(n1)
        out = norm(n1 + f, layer.norm2)
    else:
        f = ffn(norm(r, layer.norm2))
        out = r + f
    return {**steps, "attention": a, "norm1": n1, "feed_forward": f, "output": out}
