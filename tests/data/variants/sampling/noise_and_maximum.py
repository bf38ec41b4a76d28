"""The Gumbel trick: the largest logit plus noise. Filters by comparing all tokens with all."""

import torch

from exercises.kv_cache import KVCache


def with_temperature(logits, temperature):
    if not temperature >= 0:
        raise ValueError(f"temperature={temperature}")
    if not temperature:
        first = (logits == logits.amax(-1, keepdim=True)).cumsum(-1) == 1
        return (first & (logits == logits.amax(-1, keepdim=True))).to(logits)
    z = logits / temperature
    e = (z - z.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def keep_top_k(logits, k):
    if k < 1:
        raise ValueError(k)
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return logits.masked_fill(larger >= k, -torch.inf)


def keep_top_p(logits, p):
    if not 0.0 < p <= 1.0:
        raise ValueError(p)
    probs = torch.softmax(logits, -1)
    larger = probs[..., None, :] > probs[..., :, None]
    before = (larger * probs[..., None, :]).sum(-1)
    return logits if p == 1 else logits.masked_fill(before >= p, -torch.inf)


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature < 0:
        raise ValueError(temperature)
    if temperature == 0:
        logits = keep_top_k(logits, 1)
        temperature = 1
    logits = logits / temperature
    for option, rule in ((top_k, keep_top_k), (top_p, keep_top_p)):
        if option is not None:
            logits = rule(logits, option)
    noise = torch.empty_like(logits).exponential_(generator=generator)
    return (logits - noise.log()).argmax(-1)


class Writer:
    def __init__(self, model, ids):
        self.model, self.ids = model, ids
        self.caches = [KVCache() for _ in range(len(model.blocks))]
        self.logits = self.read(ids)

    def read(self, ids):
        with torch.no_grad():
            return self.model(ids, self.caches)[:, -1]

    def append(self, tokens):
        self.ids = torch.cat([self.ids, tokens[:, None]], 1)
        self.logits = self.read(tokens[:, None])


def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None):
    writer = Writer(model, ids)
    alive = [True] * len(ids)
    while writer.ids.size(1) < ids.size(1) + max_new_tokens and any(alive):
        tokens = sample(writer.logits, temperature, top_k, top_p, generator).tolist()
        tokens = [token if lives else eos_id for token, lives in zip(tokens, alive)]
        alive = [lives and token != eos_id for token, lives in zip(tokens, alive)]
        writer.append(torch.tensor(tokens))
    return writer.ids
