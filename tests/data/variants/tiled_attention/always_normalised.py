"""The output is kept divided by the sum, as in the first FlashAttention; sums by logarithms."""

import torch


def tiled_attention(query, key, value, mask=None, block=64):
    lse, output = None, None
    if mask is not None:
        mask = mask.expand(*mask.shape[:-1], key.size(-2))
    for start in range(0, key.size(-2), block):
        stop = min(start + block, key.size(-2))
        s = query.div(query.size(-1) ** 0.5).matmul(key[..., start:stop, :].transpose(-1, -2))
        if mask is not None:
            s = s.masked_fill(mask[..., start:stop] == False, -1e4)  # noqa: E712
        top = s.amax(-1, keepdim=True)
        e = (s - top).exp()
        z = e.sum(-1, keepdim=True)
        here, here_lse = (e / z) @ value[..., start:stop, :], top + z.log()
        if lse is None:
            lse, output = here_lse, here
        else:
            larger, smaller = torch.maximum(lse, here_lse), torch.minimum(lse, here_lse)
            new = larger + torch.log1p(torch.exp(smaller - larger))
            output = output * torch.exp(lse - new) + here * torch.exp(here_lse - new)
            lse = new
    return output
