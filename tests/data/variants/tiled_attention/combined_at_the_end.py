"""Each block by itself, as in flash decoding; the pieces are joined when all are there."""

import torch


def _block(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / key.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    top = scores.amax(-1, keepdim=True)
    exps = torch.exp(scores - top)
    return top, exps.sum(-1, keepdim=True), exps @ value


def tiled_attention(query, key, value, mask=None, block=64):
    pieces = []
    for start in range(0, key.size(-2), block):
        here = slice(start, start + block)
        part = mask
        if mask is not None and mask.dim() and mask.size(-1) > 1:
            part = mask[..., here]
        pieces.append(_block(query, key[..., here, :], value[..., here, :], part))
    top = pieces[0][0]
    for other, _, _ in pieces[1:]:
        top = torch.maximum(top, other)
    total = sum(torch.exp(t - top) * z for t, z, _ in pieces)
    return sum(torch.exp(t - top) * o for t, _, o in pieces) / total
