"""Random numbers."""

import torch


def with_temperature(logits, temperature):
    return torch.rand_like(logits)


def keep_top_k(logits, k):
    return torch.randn_like(logits)


def keep_top_p(logits, p):
    return torch.randn_like(logits)


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    return torch.randint(logits.size(-1), (len(logits),))


def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None):
    return torch.cat([ids, torch.randint(4, (len(ids), max_new_tokens))], 1)
