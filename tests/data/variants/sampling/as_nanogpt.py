"""Without caches, in the style of nanoGPT and of Hugging Face: thresholds and a shifted mask."""

import torch
import torch.nn.functional as F


def with_temperature(logits, temperature):
    if temperature < 0.0:
        raise ValueError("temperature must be non-negative")
    if temperature == 0.0:
        return F.one_hot(torch.argmax(logits, -1), logits.shape[-1]).to(logits.dtype)
    return F.softmax(logits / temperature, dim=-1)


def keep_top_k(logits, k):
    if k < 1:
        raise ValueError("k")
    v, _ = torch.topk(logits, min(k, logits.size(-1)))
    logits = logits.clone()
    logits[logits < v[..., [-1]]] = -float("Inf")
    return logits


def keep_top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p")
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative_probs = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
    sorted_indices_to_remove = cumulative_probs > p
    sorted_indices_to_remove[..., 1:] = sorted_indices_to_remove[..., :-1].clone()
    sorted_indices_to_remove[..., 0] = 0
    if p == 1.0:
        sorted_indices_to_remove[:] = False
    indices_to_remove = sorted_indices_to_remove.scatter(-1, sorted_indices, sorted_indices_to_remove)
    return logits.masked_fill(indices_to_remove, -float("Inf"))


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = with_temperature(logits, temperature)
    logits = torch.log(probs)
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    probs = F.softmax(logits, dim=-1)
    return torch.multinomial(probs, num_samples=1, generator=generator)[:, 0]


@torch.no_grad()
def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None):
    done = torch.zeros(ids.shape[0], dtype=torch.bool)
    for _ in range(max_new_tokens):
        logits = model(ids)[:, -1, :]
        idx_next = sample(logits, temperature, top_k, top_p, generator)
        if eos_id is not None:
            idx_next = torch.where(done, torch.full_like(idx_next, eos_id), idx_next)
            done = done | (idx_next == eos_id)
        ids = torch.cat((ids, idx_next[:, None]), dim=1)
        if eos_id is not None and bool(done.all()):
            break
    return ids
