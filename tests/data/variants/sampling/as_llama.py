"""As Llama's own code: probabilities, not logits, are cut in sample; a buffer of ids is filled."""

import torch

from exercises.kv_cache import KVCache


def with_temperature(logits, temperature):
    assert temperature >= 0
    if temperature > 0:
        return torch.softmax(logits / temperature, dim=-1)
    probs = torch.zeros_like(logits)
    probs.scatter_(-1, torch.argmax(logits, dim=-1, keepdim=True), 1)
    return probs


def keep_top_k(logits, k):
    assert k >= 1
    order = torch.argsort(logits, dim=-1, descending=True, stable=True)
    rank = torch.argsort(order, dim=-1)
    return torch.where(rank < k, logits, float("-inf"))


def keep_top_p(logits, p):
    assert 0 < p <= 1
    probs = torch.softmax(logits.double(), dim=-1)
    probs_sort, probs_idx = torch.sort(probs, dim=-1, descending=True)
    probs_sum = torch.cumsum(probs_sort, dim=-1)
    mask = probs_sum - probs_sort > p
    gone = torch.zeros_like(mask)
    gone.scatter_(-1, probs_idx, mask)
    if p == 1:
        gone = torch.zeros_like(mask)
    return torch.where(gone, torch.tensor(float("-inf"), dtype=logits.dtype), logits)


def sample_top_p(probs, p, generator):
    probs_sort, probs_idx = torch.sort(probs, dim=-1, descending=True)
    probs_sum = torch.cumsum(probs_sort, dim=-1)
    mask = probs_sum - probs_sort > p
    probs_sort[mask] = 0.0
    probs_sort.div_(probs_sort.sum(dim=-1, keepdim=True))
    next_token = torch.multinomial(probs_sort, num_samples=1, generator=generator)
    return torch.gather(probs_idx, -1, next_token)


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = with_temperature(logits, temperature)
    if top_k is not None:
        probs = keep_top_k(probs.log(), top_k).exp()
        probs = probs / probs.sum(-1, keepdim=True)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(top_p)
    return sample_top_p(probs, 1.0 if top_p is None else top_p, generator).reshape(-1)


@torch.inference_mode()
def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None):
    bsz, start = ids.shape
    total_len = start + max_new_tokens
    tokens = torch.full((bsz, total_len), 0 if eos_id is None else eos_id, dtype=torch.long)
    tokens[:, :start] = ids
    caches = [KVCache() for _ in model.blocks]
    eos_reached = torch.tensor([False] * bsz)
    prev_pos = 0
    for cur_pos in range(start, total_len):
        logits = model(tokens[:, prev_pos:cur_pos], caches)
        next_token = sample(logits[:, -1], temperature, top_k, top_p, generator)
        if eos_id is not None:
            next_token = next_token.masked_fill(eos_reached, eos_id)
            eos_reached |= next_token == eos_id
        tokens[:, cur_pos] = next_token
        prev_pos = cur_pos
        if all(eos_reached):
            break
    return tokens
