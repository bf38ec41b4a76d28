"""One uniform number a row, looked up in the sums of the probabilities; ascending sort."""

import torch


def softmax(x):
    return torch.exp(x - torch.logsumexp(x, -1, keepdim=True))


def with_temperature(logits, temperature):
    if temperature < 0:
        raise ValueError("negative temperature")
    if temperature < 1e-8:
        result = logits.new_zeros(logits.shape)
        result.scatter_(-1, logits.max(-1, keepdim=True)[1], 1.0)
        return result
    return softmax(logits * (1 / temperature))


def keep_top_k(logits, k):
    if k <= 0:
        raise ValueError("k must be positive")
    if k >= logits.shape[-1]:
        return logits + 0
    border = torch.kthvalue(logits, logits.shape[-1] - k + 1, dim=-1, keepdim=True).values
    return torch.where(logits >= border, logits, torch.full_like(logits, -torch.inf))


def keep_top_p(logits, p):
    if not (p > 0 and p <= 1):
        raise ValueError("p must be in (0, 1]")
    ascending, index = torch.sort(logits, dim=-1, descending=False)
    cumulative = softmax(ascending).cumsum(-1)
    remove = cumulative <= (1 - p)
    remove[..., -1] = False
    if p == 1:
        remove = torch.zeros_like(remove)
    return logits.masked_fill(remove.scatter(-1, index, remove), float("-inf"))


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    probabilities = with_temperature(logits, temperature).double()
    if top_k is not None:
        probabilities = softmax(keep_top_k(probabilities.log(), top_k))
    if top_p is not None:
        probabilities = softmax(keep_top_p(probabilities.log(), top_p))
    sums = probabilities.cumsum(-1)
    u = torch.rand(len(logits), 1, generator=generator, dtype=torch.float64) * sums[:, -1:]
    return torch.searchsorted(sums, u, right=True).squeeze(1).clamp(max=logits.size(1) - 1)


def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_id=None, generator=None):
    out, length = ids, ids.size(1)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if eos_id is not None and step:
                ended = (out[:, length:] == eos_id).any(1)
                if ended.all():
                    return out
            else:
                ended = torch.zeros(len(ids)).bool()
            token = sample(model(out, None)[:, -1], temperature, top_k, top_p, generator)
            token[ended] = eos_id if eos_id is not None else 0
            out = torch.cat([out, token.view(-1, 1)], -1)
    return out
