"""In place throughout, with lerp and addcdiv; options that torch has are taken and not used."""

import numpy as np
import torch
from torch.optim import Optimizer


@torch.no_grad()
def clip_gradients(parameters, max_norm, norm_type=2.0):
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    found = list(filter(lambda p: p.grad is not None, parameters))
    if not found:
        return torch.tensor(0.0)
    norms = torch.stack([torch.norm(p.grad.detach(), norm_type) for p in found])
    total = torch.norm(norms, norm_type)
    factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    for p in found:
        p.grad.detach().mul_(factor)
    return total


class AdamW(Optimizer):
    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, *, maximize=False
    ):
        if not 0.0 <= betas[0] < 1.0 or not 0.0 <= betas[1] < 1.0:
            raise ValueError(f"invalid betas: {betas}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize})

    def _new_state(self, p):
        return {"step": torch.tensor(0.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": p * 0.0}

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                if p not in self.state:
                    self.state[p] = self._new_state(p)
                self._move(p, p.grad, group, **self.state[p])
        return loss

    def _move(self, p, gradient, group, step, exp_avg, exp_avg_sq):
        step += 1
        beta1, beta2 = group["betas"]
        p.mul_(1 - group["lr"] * group["weight_decay"])
        exp_avg.lerp_(gradient, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(gradient, gradient.conj(), value=1 - beta2)
        bias1, bias2 = 1 - beta1 ** step.item(), 1 - beta2 ** step.item()
        denom = (exp_avg_sq.sqrt() / bias2**0.5).add_(group["eps"])
        p.addcdiv_(exp_avg, denom, value=-group["lr"] / bias1)


def cosine_rate(step, max_rate, min_rate, warmup, total):
    step = min(step, total)
    if step < warmup:
        return max_rate / warmup * step
    return float(
        min_rate
        + 0.5 * (max_rate - min_rate) * (1 + np.cos(np.pi * (step - warmup) / (total - warmup)))
    )
