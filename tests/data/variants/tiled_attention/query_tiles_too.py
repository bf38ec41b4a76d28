"""FlashAttention with two loops, over blocks of queries and of keys; torch.split; a class."""

import torch


class _Running:
    def __init__(self, rows, width):
        self.maximum = torch.full_like(rows[..., :1], -3e38)
        self.sum = torch.zeros_like(self.maximum)
        self.output = rows.new_zeros(*rows.shape[:-1], width)

    def add(self, scores, values):
        new = torch.maximum(self.maximum, scores.max(dim=-1, keepdim=True)[0])
        old = torch.exp(self.maximum - new)
        exps = torch.exp(scores - new)
        self.sum = self.sum * old + exps.sum(-1, keepdim=True)
        self.output = self.output * old + torch.matmul(exps, values)
        self.maximum = new


def tiled_attention(query, key, value, mask=None, block=64):
    n_queries, n_keys = query.size(-2), key.size(-2)
    if mask is not None:
        mask = torch.broadcast_to(mask, (*query.shape[:-1], n_keys))
    rows = []
    for first in range(0, n_queries, block):
        q = query[..., first : first + block, :]
        running = _Running(q, value.size(-1))
        for start, (k, v) in zip(range(0, n_keys, block), zip(key.split(block, -2), value.split(block, -2))):
            scores = q @ k.mT / query.size(-1) ** 0.5
            if mask is not None:
                visible = mask[..., first : first + block, start : start + block]
                scores = torch.where(visible, scores, scores.new_tensor(-3e38))
            running.add(scores, v)
        rows.append(running.output / running.sum)
    return torch.cat(rows, dim=-2)
