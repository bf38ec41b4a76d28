import torch
import torch.nn.functional as F


def with_temperature(logits, temperature):
    if temperature < 0:
        raise ValueError("temperature")
    if temperature == 0:
        probs = torch.zeros_like(logits)
        return probs.scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    return F.softmax(logits / temperature, dim=-1)


def keep_top_k(logits, k):
    if k < 1:
        raise ValueError("k")
    values, _ = torch.topk(logits, min(k, logits.size(-1)))
    return torch.where(logits < values[..., -1:], torch.full_like(logits, float("-inf")), logits)


def keep_top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p")
    if p == 1:
        return logits.clone()
    ordered, index = torch.sort(logits, descending=True)
    cumulative = F.softmax(ordered, dim=-1).cumsum(-1)
    remove = cumulative > p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    return logits.masked_fill(torch.zeros_like(remove).scatter(-1, index, remove), float("-inf"))


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = with_temperature(logits, temperature)
    logits = probs.log()
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return torch.multinomial(F.softmax(logits, dim=-1), 1, generator=generator)[:, 0]


@torch.no_grad()
def generate(
    model,
    ids,
    max_new_tokens,
    temperature=1.0,
    top_k=None,
    top_p=None,
    eos_id=None,
    generator=None,
):
    for _ in range(max_new_tokens):
        logits = model(ids)[:, -1]
        token = sample(logits, temperature, top_k, top_p, generator)
        if eos_id is not None and (token == eos_id).all():
            break
        ids = torch.cat([ids, token[:, None]], dim=1)
    return ids
