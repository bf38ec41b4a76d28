"""As in the lecture: one step size with both corrections, eps before them, the decay at the end."""

import math

import torch


def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    total = math.sqrt(sum(p.grad.pow(2).sum().item() for p in parameters))
    if total >= max_norm:
        for p in parameters:
            p.grad = p.grad * (max_norm / (total + 1e-6))
    return total


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        if lr < 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {"alpha": None, "lr": lr, "betas": betas, "eps": eps, "lam": weight_decay}
        defaults["weight_decay"] = weight_decay
        super().__init__(params, defaults)

    def step(self, closure=None):
        loss = None
        if closure:
            with torch.set_grad_enabled(True):
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                t = state.get("t", 1)
                m = b1 * state.get("m", torch.zeros_like(p.data)) + (1 - b1) * p.grad.data
                v = b2 * state.get("v", torch.zeros_like(p.data)) + (1 - b2) * p.grad.data**2
                alpha = group["lr"] * math.sqrt(1 - b2**t) / (1 - b1**t)
                p.data = p.data - alpha * m / (torch.sqrt(v) + group["eps"])
                p.data = p.data - group["lr"] * group["weight_decay"] * p.data
                state["t"], state["m"], state["v"] = t + 1, m, v
        return loss


def cosine_rate(it, max_rate, min_rate, warmup, total):
    if it < warmup:
        return it / warmup * max_rate
    elif it <= total:
        angle = (it - warmup) / (total - warmup) * math.pi
        return min_rate + 0.5 * (1 + math.cos(angle)) * (max_rate - min_rate)
    else:
        return min_rate
