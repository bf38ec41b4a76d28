"""Loops over batch, heads and tokens."""

import torch


def encoder_layer_by_hand(layer, x):
    attn = layer.self_attn
    h, d = attn.num_heads, x.size(-1)
    size = d // h
    axis = 0 if attn.batch_first else 1
    kind = {"relu": torch.relu, "gelu": torch.nn.functional.gelu}[layer.activation.__name__]

    def norm(v, n):
        v = v - v.mean()
        return v / torch.sqrt((v * v).mean() + n.eps) * n.weight + n.bias

    def ffn(v):
        return layer.linear2.weight @ kind(layer.linear1.weight @ v + layer.linear1.bias) + layer.linear2.bias

    found = []
    for sentence in x.unbind(axis):
        heard = [norm(v, layer.norm1) if layer.norm_first else v for v in sentence]
        mapped = [attn.in_proj_weight.mv(v) + attn.in_proj_bias for v in heard]
        tables = [torch.stack([m[i * d : (i + 1) * d] for m in mapped]) for i in range(3)]
        q, k, v = (t.view(-1, h, size).transpose(0, 1) for t in tables)
        s = torch.stack([a @ b.T for a, b in zip(q, k)]) * size**-0.5
        w = s.log_softmax(-1).exp()
        rows = []
        for token in range(len(sentence)):
            merged = torch.cat([w[i, token] @ v[i] for i in range(h)])
            a = attn.out_proj.weight @ merged + attn.out_proj.bias
            r = sentence[token] + a
            if layer.norm_first:
                n, f = heard[token], ffn(norm(r, layer.norm2))
                rows.append((a, n, f, r + f))
            else:
                n = norm(r, layer.norm1)
                f = ffn(n)
                rows.append((a, n, f, norm(n + f, layer.norm2)))
        found.append((q, k, v, s, w, *map(torch.stack, zip(*rows))))
    names = ("query", "key", "value", "scores", "weights")
    late = ("attention", "norm1", "feed_forward", "output")
    parts = list(zip(*found))
    steps = {name: torch.stack(part) for name, part in zip(names, parts)}
    return steps | {name: torch.stack(part, dim=axis) for name, part in zip(late, parts[5:])}
