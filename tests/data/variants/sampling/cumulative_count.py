"""The number of tokens that stay is counted first; draws are cut out of the sorted order."""

import torch
from torch import nn

from exercises.kv_cache import KVCache


def with_temperature(logits, temperature):
    match temperature:
        case t if t < 0:
            raise ValueError("T >= 0")
        case 0:
            eye = torch.eye(logits.size(-1), dtype=logits.dtype)
            return eye[logits.argmax(-1)]
        case _:
            return nn.Softmax(dim=-1)(logits / temperature)


def keep_first(logits, counts):
    """The so many largest of each row."""
    values, order = logits.sort(dim=-1, descending=True)
    places = torch.arange(logits.size(-1))
    values = values.where(places < counts, torch.tensor(-float("inf"), dtype=logits.dtype))
    return torch.empty_like(logits).scatter_(-1, order, values)


def keep_top_k(logits, k):
    if k < 1:
        raise ValueError("k >= 1")
    return keep_first(logits, torch.tensor(k))


def keep_top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError("0 < p <= 1")
    falling = logits.sort(dim=-1, descending=True).values.softmax(-1)
    counts = (falling.cumsum(-1) < p).sum(-1, keepdim=True) + 1
    return keep_first(logits, counts if p < 1 else torch.tensor(logits.size(-1)))


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = torch.log(with_temperature(logits, temperature))
    logits = logits if top_k is None else keep_top_k(logits, top_k)
    logits = logits if top_p is None else keep_top_p(logits, top_p)
    values, order = logits.sort(dim=-1, descending=True)
    drawn = torch.multinomial(values.softmax(-1), 1, True, generator=generator)
    return order.gather(-1, drawn)[..., 0]


@torch.no_grad()
def generate(
    model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None
):
    def go(ids, read, caches, ended, left):
        if left == 0 or ended.all():
            return ids
        new = sample(model(read, caches)[:, -1, :], temperature, top_k, top_p, generator)
        if eos_id is not None:
            new = new * ~ended + eos_id * ended
            ended = ended | (new == eos_id)
        new = new[:, None]
        return go(torch.hstack([ids, new]), new, caches, ended, left - 1)

    ended = torch.full((ids.size(0),), False)
    return go(ids, ids, [KVCache() for _ in model.blocks], ended, max_new_tokens)
