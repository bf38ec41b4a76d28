"""The run calls itself for all but the first step; evaluation by functional_call on copies."""

from torch import nn, no_grad
from torch.func import functional_call


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    model.train()
    optimiser.zero_grad()
    decoder_input, labels = tgt[..., :-1], tgt[..., 1:]
    value = loss(
        functional_call(model, dict(model.named_parameters()), (src, decoder_input)), labels
    )
    value.backward()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm, foreach=False)
    optimiser.step()
    return value.item()


def evaluate(model, batches, loss):
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        raise ValueError("no batch")
    was_training = model.training
    values = {name: value.detach() for name, value in model.named_parameters()}
    model.eval()
    weighted = []
    with no_grad():
        for src, tgt in (first, *rest):
            labels = tgt[:, 1:]
            value = loss(functional_call(model, values, (src, tgt[:, :-1])), labels)
            weighted.append((value.item(), int((labels != model.pad_id).sum())))
    model.train(was_training)
    return sum(v * n for v, n in weighted) / sum(n for _, n in weighted)


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None, _done=0):
    if steps == _done:
        return []
    src, tgt = batches[_done % len(batches)]
    for group in optimiser.param_groups:
        group["lr"] = rate(_done + 1)
    first = train_step(model, src, tgt, optimiser, loss, max_norm)
    return [first] + fit(model, batches, optimiser, loss, rate, steps, max_norm, _done + 1)
