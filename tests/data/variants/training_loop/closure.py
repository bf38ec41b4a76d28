"""The whole step is a closure that the optimiser calls; evaluation without any switch of its own."""

from torch import enable_grad, no_grad
from torch.nn.utils import clip_grad_norm_


def train_step(model, src, tgt, optimiser, loss, max_norm=None):
    def closure():
        model.train()
        model.zero_grad(set_to_none=True)
        with enable_grad():
            value = loss(model(src, tgt[:, :-1]), tgt[:, 1:])
        value.backward()
        if max_norm is not None:
            clip_grad_norm_([p for p in model.parameters() if p.grad is not None], max_norm)
        return value

    return optimiser.step(closure).item()


def evaluate(model, batches, loss):
    def judged(src, tgt):
        modes = {module: module.training for module in model.modules()}
        model.eval()
        with no_grad():
            value = loss(model(src, tgt[:, :-1]), tgt[:, 1:])
        for module, mode in modes.items():
            module.training = mode
        return value.item(), (tgt[:, 1:] != model.pad_id).sum().item()

    found = [judged(src, tgt) for src, tgt in batches]
    if not found:
        raise ValueError("there are no batches")
    return sum(value * count for value, count in found) / sum(count for _, count in found)


def fit(model, batches, optimiser, loss, rate, steps, max_norm=None):
    losses, step = [], 1
    while step <= steps:
        lr = rate(step)
        optimiser.param_groups[:] = [{**group, "lr": lr} for group in optimiser.param_groups]
        src, tgt = batches[step % len(batches) - 1]
        losses += [train_step(model, src, tgt, optimiser, loss, max_norm)]
        step += 1
    return losses
