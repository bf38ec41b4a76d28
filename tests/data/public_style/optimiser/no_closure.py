import math

import torch
from torch.optim import Optimizer


def clip_gradients(parameters, max_norm):
    parameters = [p for p in parameters if p.grad is not None]
    if len(parameters) == 0:
        return 0.0
    norm = math.sqrt(sum(p.grad.pow(2).sum().item() for p in parameters))
    scale = max_norm / (norm + 1e-6)
    if scale < 1:
        for p in parameters:
            p.grad.mul_(scale)
    return norm


class AdamW(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s["t"], s["m"], s["v"] = 0, torch.zeros_like(p.data), torch.zeros_like(p.data)
                s["t"] += 1
                s["m"] = b1 * s["m"] + (1 - b1) * p.grad.data
                s["v"] = b2 * s["v"] + (1 - b2) * p.grad.data**2
                a = group["lr"] * math.sqrt(1 - b2 ** s["t"]) / (1 - b1 ** s["t"])
                p.data -= a * s["m"] / (torch.sqrt(s["v"]) + group["eps"])
                p.data -= group["lr"] * group["weight_decay"] * p.data


def cosine_rate(step, max_rate, min_rate, warmup, total):
    if step < warmup:
        return max_rate * step / warmup
    if step > total:
        return min_rate
    ratio = (step - warmup) / (total - warmup)
    return min_rate + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (max_rate - min_rate)
