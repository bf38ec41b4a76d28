"""Keeps its memory in lists of its own, by the number of the parameter, and saves it under its keys."""

import copy
import math

import torch


def clip_gradients(parameters, max_norm):
    def gradients():
        return (p.grad for p in held if p.grad is not None)

    held = tuple(parameters)
    norm = sum(((g * g).sum() for g in gradients()), start=torch.zeros(())) ** 0.5
    for gradient in gradients():
        gradient *= min(1.0, max_norm / norm)
    return norm


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, options)
        self.ages = [0] * len(self.all())
        self.memory = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.all()]

    def all(self):
        return [p for group in self.param_groups for p in group["params"]]

    def state_dict(self):
        options = [{k: v for k, v in g.items() if k != "params"} for g in self.param_groups]
        return {"ages": list(self.ages), "memory": list(self.memory), "options": options}

    def load_state_dict(self, saved):
        saved = copy.deepcopy(saved)
        self.ages, self.memory = saved["ages"], saved["memory"]
        for group, options in zip(self.param_groups, saved["options"], strict=True):
            group.update(options)

    def step(self, closure=None):
        loss = None
        if closure is not None:
            was = torch.is_grad_enabled()
            torch.set_grad_enabled(True)
            try:
                loss = closure()
            finally:
                torch.set_grad_enabled(was)
        number = 0
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(number, p.detach(), p.grad.detach(), **group)
                number += 1
        return loss

    def update(self, number, p, g, lr, betas, eps, weight_decay, **_):
        (b1, b2), (m, v) = betas, self.memory[number]
        self.ages[number] += 1
        t = self.ages[number]
        m, v = m + (1 - b1) * (g - m), v + (1 - b2) * (g**2 - v)
        self.memory[number] = m, v
        p -= lr * (m / (1 - b1**t) / ((v / (1 - b2**t)).sqrt() + eps))
        p *= 1 - lr * weight_decay


def cosine_rate(step, max_rate, min_rate, warmup, total):
    rising = max_rate * step / max(warmup, 1)
    share = (min(max(step, warmup), total) - warmup) / (total - warmup)
    falling = min_rate + (1 + math.cos(math.pi * share)) / 2 * (max_rate - min_rate)
    return rising if step < warmup else falling
