"""Updates its own accumulators in place, and the mask comes as a number that is added."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    n, scale = key.size(-2), key.size(-1) ** -0.5
    m = torch.full_like(query[..., :1], -1e30)
    z = torch.zeros_like(m)
    o = query.new_zeros((*query.shape[:-1], value.size(-1)))
    for i in range(0, n, block):
        s = torch.matmul(query, key[..., i : i + block, :].mT).mul(scale)
        if mask is not None:
            part = mask.expand(*mask.shape[:-1], n)[..., i : i + block]
            s = s + torch.zeros(part.shape, dtype=s.dtype).masked_fill_(~part, -1e30)
        new = torch.maximum(m, s.amax(-1, True))
        p, r = s.sub(new).exp_(), m.sub(new).exp_()
        z.mul_(r).add_(p.sum(-1, True))
        o.mul_(r).add_(p @ value[..., i : i + block, :])
        m = new
    return o / z
