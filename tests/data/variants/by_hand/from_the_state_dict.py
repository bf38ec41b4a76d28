"""Works on the state dictionary alone, detached, with more keys than were asked for."""

import torch
import torch.nn.functional as F


def encoder_layer_by_hand(layer, x):
    w = {name: value.clone() for name, value in layer.state_dict().items()}
    heads, first = layer.self_attn.num_heads, layer.self_attn.batch_first
    x = x.detach()
    d = x.shape[-1]

    def norm(y, name):
        centred = y - y.sum(-1, keepdim=True) / d
        deviation = ((centred * centred).sum(-1, keepdim=True) / d + getattr(layer, name).eps) ** 0.5
        return torch.addcmul(w[name + ".bias"], centred / deviation, w[name + ".weight"])

    def project(y):
        y = y if first else y.swapaxes(0, 1)
        both = torch.einsum("blm,nm->bln", y, w["self_attn.in_proj_weight"])
        both = both + w["self_attn.in_proj_bias"]
        b, l, _ = both.shape
        return both.view(b, l, 3, heads, d // heads).permute(2, 0, 3, 1, 4)

    def feed(y):
        inner = y.matmul(w["linear1.weight"].t()).add(w["linear1.bias"])
        inner = F.relu(inner) if layer.activation_relu_or_gelu == 1 else F.gelu(inner)
        return inner.matmul(w["linear2.weight"].t()).add(w["linear2.bias"])

    pre = norm(x, "norm1") if layer.norm_first else x
    q, k, v = project(pre)
    s = q.matmul(k.transpose(-1, -2)) * (d // heads) ** -0.5
    p = F.softmax(s, dim=3)
    o = p.matmul(v).permute(0, 2, 1, 3).contiguous().view(*pre.shape if first else pre.swapaxes(0, 1).shape)
    a = F.linear(o, w["self_attn.out_proj.weight"], w["self_attn.out_proj.bias"])
    a = a if first else a.swapaxes(0, 1)
    r = a + x
    n = pre if layer.norm_first else norm(r, "norm1")
    f = feed(norm(r, "norm2") if layer.norm_first else n)
    y = r + f if layer.norm_first else norm(n + f, "norm2")
    return dict(
        query=q, key=k, value=v, scores=s, weights=p, attention=a, norm1=n, feed_forward=f,
        output=y, residual=r, merged=o,
    )
