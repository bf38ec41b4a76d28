"""Nothing at all."""

import torch


def with_temperature(logits, temperature):
    return None


def keep_top_k(logits, k):
    return None


def keep_top_p(logits, p):
    return None


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    return None


def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None):
    return None
